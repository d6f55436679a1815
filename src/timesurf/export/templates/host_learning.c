    case LABELLED:
        return ${name}_push_labelled(&net, ${event}, c[1]);
    case ADAPTING:
        return ${name}_push_adapting(&net, ${event});
    case SAVE:
        ${name}_save(&net, saved);
        return 0;
    case RESTORE:
        return ${name}_restore(&net, saved);
    case DAMAGE:
        saved[(uint32_t)c[6] % ${NAME}_LEARNED_BYTES] ^= 1u;
        return 0;
