// Shares of the last layer's units on the general path: the delta rule, and evidence for classes. Follows general_parts.cu.
//
// The share of a unit, q_n = softmax_n(-temperature dist_n^2), is its weight, exp(-temperature (dist_n^2 - least)), over the sum of all weights.

constexpr int TOP_LANES = SHAPE[TOP].lanes, CLASS_LANES = (CLASSES + 31) / 32;   // units and classes per lane

// Weights of units begin to end, beside the closest of them; 0 for all others. Returned: their sum, which is at least 1.
__device__ __forceinline__ float weights_of(const State& s, int begin, int end, float (&weight)[TOP_LANES], int lane) {
  float least = FAR, sum = 0.f;
  #pragma unroll
  for (int u = 0; u < TOP_LANES; u++) {
    const int n = lane + 32 * u;
    if (begin <= n && n < end) least = fminf(least, s.dist[TOP][u]);
  }
  for (int i = 16; i; i >>= 1) least = fminf(least, __shfl_xor_sync(ALL, least, i));
  #pragma unroll
  for (int u = 0; u < TOP_LANES; u++) {
    const int n = lane + 32 * u;
    weight[u] = begin <= n && n < end ? ex2((least - s.dist[TOP][u]) * s.rates[TOP].temperature) : 0.f;
    sum += weight[u];
  }
  return warp_sum(sum);
}

// Gains of all units by the delta rule: alpha (r_n - q_n), r_n the share among the units of the right class.
__device__ __forceinline__ void delta_gains(const State& s, int label, float (&gain)[TOP_LANES], int lane) {
  float right[TOP_LANES];
  const float sum = weights_of(s, 0, SHAPE[TOP].units, gain, lane);
  const float sum_right = weights_of(s, label * PER_CLASS, (label + 1) * PER_CLASS, right, lane);
  #pragma unroll
  for (int u = 0; u < TOP_LANES; u++) gain[u] = s.rates[TOP].alpha * (right[u] / sum_right - gain[u] / sum);
}

// Evidence of an output event for every class: log(share of the class + DOUBT). A lane has classes lane, lane + 32, ...
__device__ __forceinline__ void weigh(const State& s, double (&evidence)[CLASS_LANES], int lane) {
  float weight[TOP_LANES];
  const float sum = weights_of(s, 0, SHAPE[TOP].units, weight, lane);
  if constexpr (PER_CLASS == 1) {
    #pragma unroll
    for (int u = 0; u < TOP_LANES; u++) evidence[u] += logf(weight[u] / sum + DOUBT);
  } else {
    #pragma unroll
    for (int v = 0; v < CLASS_LANES; v++)
      for (int l = 0; l < 32 && l + 32 * v < CLASSES; l++) {   // units of a class are spread over the lanes
        float of_class = 0.f;
        #pragma unroll
        for (int u = 0; u < TOP_LANES; u++) if (class_of(lane + 32 * u) == l + 32 * v) of_class += weight[u];
        of_class = warp_sum(of_class);
        if (lane == l) evidence[v] += logf(of_class / sum + DOUBT);
      }
  }
}
