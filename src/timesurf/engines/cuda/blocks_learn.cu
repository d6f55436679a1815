// How the path by blocks of events learns: sums of a block of events, of a recording, of a warp. Follows blocks_parts.cu.

// ---------------------------------------------------------------------- one block of events

// How near each distance is to its threshold, in the place of the squared distance; 0 beyond it.
__device__ __forceinline__ void to_nearness(const Warp& here, float (&dist)[2][NT][4], float slope) {
  const int t4 = here.lane & 3;
  #pragma unroll
  for (int nt = 0; nt < NT; nt++) {
    const float2 border = *(float2*)(here.th + nt * 8 + 2 * t4), offset = *(float2*)(here.near + nt * 8 + 2 * t4);
    #pragma unroll
    for (int i = 0; i < 4; i++)
      #pragma unroll
      for (int j = 0; j < 2; j++) {
        float& d = dist[i >> 1][nt][(i & 1) * 2 + j];
        const float far = root(fmaxf(d, 0.f));
        d = far < (j ? border.y : border.x) ? nearness(far, slope, j ? offset.y : offset.x) : 0.f;
      }
  }
}

// S of an event and its difference to the output before it, which may lie in the block before.
__device__ __forceinline__ void judge(const Warp& here, const Recording& of, int block, unsigned passing, float& S, float& dS) {
  const unsigned passed = passing & here.before;
  float S_before = __shfl_sync(ALL, S, last_of(passed));
  const float S_last = __shfl_sync(ALL, S, last_of(passing));
  here.take_over(SIGNS, block);
  const float S_carry = here.control[PREVIOUS];
  if (!passed) S_before = S_carry;
  __syncwarp();
  if (here.lane == 31) { if (passing) here.control[PREVIOUS] = S_last; here.pass_on(SIGNS, block, of.blocks); }
  dS = S - S_before;
}

// Steps of thresholds, each from four lanes that share a row.
__device__ __forceinline__ void sum_thresholds(const Warp& here, const float (&dist)[2][NT][4], const int (&closest)[4], const Step& step, float (&dth)[NT * 2]) {
  const int g8 = here.lane >> 2, t4 = here.lane & 3;
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = (i >> 1) * 16 + (i & 1) * 8 + g8, fires = closest[i] - 2 * t4;
    const float push_row = __shfl_sync(ALL, step.push, row), back_row = __shfl_sync(ALL, step.back, row);
    #pragma unroll
    for (int nt = 0; nt < NT; nt++)
      #pragma unroll
      for (int j = 0; j < 2; j++)
        dth[nt * 2 + j] = fmaf(fires == nt * 8 + j ? push_row : back_row, dist[i >> 1][nt][(i & 1) * 2 + j], dth[nt * 2 + j]);
  }
}

// gain x surface: rows are units, columns entries, summed over events, which are permuted so that no two lanes ask the same bank.
__device__ __forceinline__ void sum_surfaces(const Warp& here, float (&sums)[MT][KS][4]) {
  const int g8 = here.lane >> 2, t4 = here.lane & 3;
  #pragma unroll 1
  for (int ks = 0; ks < 4; ks++) {
    const int4 pair = *(int4*)(here.line + ks * 8 + 2 * t4);
    const int one = pair.x - g8, two = pair.z - g8;
    unsigned hot[MT][4];
    #pragma unroll
    for (int mt = 0; mt < MT; mt++) {
      hot[mt][0] = one == mt * 16 ? pair.y : 0; hot[mt][1] = one == mt * 16 + 8 ? pair.y : 0;
      hot[mt][2] = two == mt * 16 ? pair.w : 0; hot[mt][3] = two == mt * 16 + 8 ? pair.w : 0;
    }
    const float* from_ts = here.ts + (ks * 8 + 2 * t4) * STRIDE + g8;
    #pragma unroll
    for (int nt = 0; nt < KS; nt++) {
      const bool inside = nt < KS - 1 || nt * 8 + g8 < COLUMNS;
      const unsigned b0 = inside ? half_up(__float_as_uint(from_ts[nt * 8])) : 0u;
      const unsigned b1 = inside ? half_up(__float_as_uint(from_ts[nt * 8 + STRIDE])) : 0u;
      #pragma unroll
      for (int mt = 0; mt < MT; mt++) product(sums[mt][nt], hot[mt], b0, b1);
    }
  }
}

// ---------------------------------------------------------------------- a recording, backwards

// Sums of the last layer: dC[n, e] += w_k R_n(k).
__device__ __forceinline__ void sum_backwards(const Args& a, Warp& here, const Recording& of, const float2* gains, const unsigned* fired, Sum* dc, int network, float fade) {
  float total_gain[LAST_UNITS];
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) total_gain[n] = 0.f;
  int block = of.blocks - 1 - here.member;          // from the end, every GROUP-th
  float2 next_gain = make_float2(0.f, 0.f); unsigned next_fired = 0, next_t = 0;
  if (block >= 0) { const int i = min(block * 32 + here.lane, of.events - 1); next_gain = gains[i]; next_fired = fired[i]; next_t = of.times[i]; }
  for (; block >= 0; block -= GROUP) {
    const bool valid = block * 32 + here.lane < of.events;
    const float t = (float)(int)(next_t - of.began), g = valid ? next_gain.x : 0.f, w = valid ? next_gain.y : 0.f;
    const int e = next_fired & ENTRY_MASK, winner = next_fired >> ENTRY_BITS;
    {                                               // fetched for the next step, and always: a branch would wait for it here
      const int i = min(max(block - GROUP, 0) * 32 + here.lane, of.events - 1);
      next_gain = gains[i]; next_fired = fired[i]; next_t = of.times[i];
    }
    float R[ROW];
    #pragma unroll
    for (int n = 0; n < ROW; n++) R[n] = 0.f;
    #pragma unroll
    for (int n = 0; n < LAST_UNITS; n++) { R[n] = winner == n ? g : 0.f; total_gain[n] += R[n]; }
    scan_back<LAST_UNITS>(R, t, fade, here.lane);
    if (block < of.blocks - 1) {
      if (GROUP > 1) await(&here.barriers[BACK][here.warp], here.backward++);
      float carry[ROW];
      #pragma unroll
      for (int i = 0; i < ROW / 4; i++) *(float4*)(carry + 4 * i) = *(float4*)(here.control + 4 * i);
      const float decay = ex2((t - here.control[CLOCK]) * fade);
      #pragma unroll
      for (int n = 0; n < LAST_UNITS; n++) R[n] = fmaf(decay, carry[n], R[n]);
    }
    __syncwarp();
    if (here.lane == 0) {
      keep(here.control + DOT, R);
      here.control[CLOCK] = t;
      if (GROUP > 1 && block > 0) hand_on(&here.barriers[BACK][here.following]);
    }
    __syncwarp();
    give_entry(dc + (long long)e * ROW, R, w);
  }
  give_gains(a.layer[1].dg + network * LAST_UNITS, total_gain, here.lane);
}

// ---------------------------------------------------------------------- what a warp summed, to the sums of the batch

// Row and column of a fragment's value: unit and entry.
__device__ __forceinline__ int unit_of(int lane, int mt, int i) { return mt * 16 + (lane >> 2) + (i >> 1) * 8; }
__device__ __forceinline__ int column_of(int lane, int nt, int i) { return nt * 8 + 2 * (lane & 3) + (i & 1); }

__device__ __forceinline__ void give_sum(const Args& a, int network, int unit, int column, float value) {
  if (unit >= UNITS || column >= COLUMNS || value == 0.f) return;
  if (column < ENTRIES) add(a.layer[0].dc + ((long long)network * ENTRIES + column) * FIRST.row + unit, value);
  else add(a.layer[0].dg + network * UNITS + unit, value);
}

__device__ __forceinline__ void give_thresholds(const Args& a, int network, int lane, float (&dth)[NT * 2]) {
  #pragma unroll
  for (int i = 0; i < NT * 2; i++) {
    for (int s = 4; s < 32; s *= 2) dth[i] += __shfl_xor_sync(ALL, dth[i], s);
    const int n = (i >> 1) * 8 + 2 * lane + (i & 1);
    if (lane < 4 && n < UNITS) add(a.layer[0].dth + network * UNITS + n, dth[i]);
    dth[i] = 0.f;
  }
}

__device__ __forceinline__ void give(const Args& a, int network, int lane, float (&sums)[MT][KS][4]) {
  #pragma unroll
  for (int mt = 0; mt < MT; mt++)
    #pragma unroll
    for (int nt = 0; nt < KS; nt++)
      #pragma unroll
      for (int i = 0; i < 4; i++) { give_sum(a, network, unit_of(lane, mt, i), column_of(lane, nt, i), sums[mt][nt][i]); sums[mt][nt][i] = 0.f; }
}

// The same for all warps of the block together, which spares most of the atomic additions.
__device__ __forceinline__ void give_together(const Args& a, int network, int lane, const float (&sums)[MT][KS][4], float* ts, const float* all) {
  __syncwarp();
  #pragma unroll
  for (int mt = 0; mt < MT; mt++)
    #pragma unroll
    for (int nt = 0; nt < KS; nt++)
      #pragma unroll
      for (int i = 0; i < 4; i++) if (column_of(lane, nt, i) < STRIDE) ts[unit_of(lane, mt, i) * STRIDE + column_of(lane, nt, i)] = sums[mt][nt][i];
  __syncthreads();
  for (int i = threadIdx.x; i < MT * 16 * STRIDE; i += blockDim.x) {
    float sum = 0.f;
    for (int w = 0; w < WARPS; w++) sum += all[w * PER_WARP + MAP + i];
    give_sum(a, network, i / STRIDE, i % STRIDE, sum);
  }
}
