int32_t ${name}_push(${name}_t *n, ${signature})
{
    const int32_t refused = admit(n, ${plain_names});
    return refused != 0 ? refused : route(n, ${cast_names});
}
