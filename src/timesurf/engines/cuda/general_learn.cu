// How the general path learns: S and dS, sums of an event, of a recording, of a block of threads. Follows general_parts.cu and general_shares.cu.

// ---------------------------------------------------------------------- one event

// S and dS of a layer.
template <int k, bool TRACE>
__device__ __forceinline__ void judge(const Args& a, State& s, int* scratch, int lane, float G, long long at) {
  constexpr Shape shape = SHAPE[k];
  const int* FT = scratch + shape.feedback_at + s.place[k] * shape.units;
  float others = 0.f;
  for (int n = lane; n < shape.units; n += 32)
    if (n != s.fired[k] && FT[n] != NEVER) others += ex2((FT[n] - s.t) * s.rates[k].feedback);
  s.S[k] = separability(G, warp_sum(others) / others_of<shape.units>());
  float* previous = (float*)scratch + shape.previous_at + s.place[k];
  s.dS[k] = s.S[k] - *previous;
  __syncwarp();
  if (lane == 0) { *previous = s.S[k]; if (TRACE) a.S[at * LAYERS + k] = s.S[k]; }
}

template <int k, bool TRACE>
__device__ __forceinline__ void judge_all(const Args& a, State& s, int* scratch, int lane, float G, long long at) {
  if constexpr (k < LAYERS) {
    if constexpr (k > 0 || LAYERS == 1 || TRACE) judge<k, TRACE>(a, s, scratch, lane, G, at);
    judge_all<k + 1, TRACE>(a, s, scratch, lane, G, at);
  }
}

// Steps of a layer's thresholds, into the sums of this lane.
template <int k>
__device__ __forceinline__ void sum_thresholds(const Args& a, State& s, const Step& step, int lane) {
  constexpr Shape shape = SHAPE[k];
  const Rates& rates = s.rates[k];
  const int f = s.fired[k];
  #pragma unroll
  for (int u = 0; u < SHAPE[k].lanes; u++) {
    const int n = lane + 32 * u;
    const float by = n == f ? step.push : step.back;
    if (n < shape.units && by != 0.f) {
      const float th = a.layer[k].th[s.network * shape.units + n], distance = sqrtf(fmaxf(s.dist[k][u], 0.f));
      if (n == f || distance < th) s.dth[k][u] += by * nearness(distance, slope_of(rates), offset_of(rates, th));
    }
  }
}

// gain x surface of a unit: into this warp's sums in shared memory, or the batch's; a wide layer only logs it.
template <int k>
__device__ __forceinline__ void sum_surface(const Args& a, State& s, int f, float gain, const Spot* ts, Log log, Sum* shared, int lane) {
  constexpr Shape shape = SHAPE[k];
  if constexpr (shape.wide) {
    if (lane == 0) {
      const long long at = SHAPE[k].wide_at * a.log_stride + s.logged[SHAPE[k].wide_at] - 1;
      log.line[at].z = gain;
      log.unit[at] = f;
    }
  } else {
    if (gain != 0.f) for (int i = lane; i < s.spots[k]; i += 32) {
      const Spot spot = ts[SHAPE[k].written_at + i];
      const float value = gain * spot.value;
      if constexpr (shape.sums_at >= 0) shared[SHAPE[k].sums_at + f * shape.entries + spot.at / shape.row] += exact(value);
      else add(a.layer[k].dc + (long long)s.network * shape.entries * shape.row + spot.at + f, value);
    }
  }
}

// The delta rule: gain x surface of every unit of the last layer.
__device__ __forceinline__ void sum_delta(const Args& a, State& s, int label, const Spot* ts, Log log, Sum* shared, int lane) {
  float gain[TOP_LANES];
  delta_gains(s, label, gain, lane);
  #pragma unroll
  for (int u = 0; u < TOP_LANES; u++) s.dg[TOP][u] += gain[u];
  if constexpr (SHAPE[TOP].wide) {
    float* logged = log.gain + (long long)(s.logged[SHAPE[TOP].wide_at] - 1) * SHAPE[TOP].units;
    #pragma unroll
    for (int u = 0; u < TOP_LANES; u++) if (lane + 32 * u < SHAPE[TOP].units) logged[lane + 32 * u] = gain[u];
    sum_surface<TOP>(a, s, -1, 1.f, ts, log, shared, lane);   // says that they are logged
  } else {
    #pragma unroll
    for (int u = 0; u < TOP_LANES; u++)
      for (int l = 0; l < 32 && l + 32 * u < SHAPE[TOP].units; l++)
        sum_surface<TOP>(a, s, l + 32 * u, __shfl_sync(ALL, gain[u], l), ts, log, shared, lane);
  }
}

template <int k>
__device__ __forceinline__ void learn_all(const Args& a, State& s, int label, const Spot* ts, Log log, Sum* shared, int lane) {
  if constexpr (k < LAYERS) {
    constexpr int above = k + 1 < LAYERS ? k + 1 : k;
    const Step step = step_of(s.rates[k], s.S[above], s.dS[above]);
    sum_thresholds<k>(a, s, step, lane);
    if (BY_DELTA && k == TOP && label >= 0 && s.rates[k].flags & DELTA) sum_delta(a, s, label, ts, log, shared, lane);
    else {
      #pragma unroll
      for (int u = 0; u < SHAPE[k].lanes; u++) if (lane + 32 * u == s.fired[k]) s.dg[k][u] += step.gain;
      sum_surface<k>(a, s, s.fired[k], step.gain, ts, log, shared, lane);
    }
    learn_all<k + 1>(a, s, label, ts, log, shared, lane);
  }
}

// ---------------------------------------------------------------------- sums of a recording, and of a block of threads

// Sums of a wide layer over the events of one recording, from the last to the first.
template <int k>
__device__ __forceinline__ void sum_backwards(const Args& a, const State& s, Log log, int lane) {
  constexpr Shape shape = SHAPE[k];
  constexpr int q = SHAPE[k].wide_at;
  float R[SHAPE[k].lanes] = {};
  int later = s.last[q];
  for (int top = s.logged[q]; top > 0; top -= 32) {  // lane l fetches the l-th event from there backwards
    const int i = top - 1 - lane;
    float4 line = make_float4(0.f, 0.f, 0.f, 0.f); int unit = 0;
    if (i >= 0) { line = log.line[q * a.log_stride + i]; unit = log.unit[q * a.log_stride + i]; }
    const int t = __float_as_int(line.w), next = __shfl_up_sync(ALL, t, 1);
    const float fades = ex2((t - (lane ? next : later)) * s.rates[k].fade);
    later = __shfl_sync(ALL, t, 31);
    if (BY_DELTA && k == TOP && i >= 0) for (int n = 0; n < shape.units; n += 32) fetch(log.gain + (long long)i * shape.units + n);
    for (int e = 0; e < min(top, 32); e++) {
      const float fade = __shfl_sync(ALL, fades, e), w = __shfl_sync(ALL, line.y, e), gain = __shfl_sync(ALL, line.z, e);
      const int entry = __float_as_int(__shfl_sync(ALL, line.x, e)), f = __shfl_sync(ALL, unit, e);
      #pragma unroll
      for (int u = 0; u < SHAPE[k].lanes; u++) {
        const int n = lane + 32 * u;
        float own = n == f ? gain : 0.f;
        if (BY_DELTA && k == TOP && f < 0 && gain != 0.f && n < shape.units) own = log.gain[(long long)(top - 1 - e) * shape.units + n];
        R[u] = R[u] * fade + own;
        const float v = w * R[u];
        if (n < shape.units && v != 0.f) add(a.layer[k].dc + ((long long)s.network * shape.entries + entry) * shape.row + n, v);
      }
    }
  }
}

// What a warp summed over a recording, to the sums of the batch.
template <int k>
__device__ __forceinline__ void give_all(const Args& a, State& s, Log log, int lane) {
  if constexpr (k < LAYERS) {
    constexpr Shape shape = SHAPE[k];
    const Layer& layer = a.layer[k];
    if constexpr (shape.wide) sum_backwards<k>(a, s, log, lane);
    #pragma unroll
    for (int u = 0; u < SHAPE[k].lanes; u++) {
      const int n = lane + 32 * u;
      if (n < shape.units) {
        if (s.dg[k][u] != 0.f) add(layer.dg + s.network * shape.units + n, s.dg[k][u]);
        if (s.dth[k][u] != 0.f) add(layer.dth + s.network * shape.units + n, s.dth[k][u]);
      }
      s.dg[k][u] = s.dth[k][u] = 0.f;
    }
    give_all<k + 1>(a, s, log, lane);
  }
}

// What the warps of a block summed in shared memory, to the sums of the batch.
template <int k>
__device__ __forceinline__ void flush(const Args& a, const Sum* shared, int network) {
  if constexpr (k < LAYERS) {
    if constexpr (SHAPE[k].sums_at >= 0)
      for (int i = threadIdx.x; i < SHAPE[k].entries * SHAPE[k].units; i += blockDim.x) {
        Sum sum = 0;
        for (int w = 0; w < (blockDim.x >> 5); w++) sum += shared[w * SUMS + SHAPE[k].sums_at + i];
        const long long n = i / SHAPE[k].entries, j = i % SHAPE[k].entries;
        if (sum != 0) atomicAdd(a.layer[k].dc + (network * (long long)SHAPE[k].entries + j) * SHAPE[k].row + n, sum);
      }
    flush<k + 1>(a, shared, network);
  }
}
