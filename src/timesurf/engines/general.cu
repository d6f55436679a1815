// The general path: one warp a recording, one event at a time, any network, weights that stay for the whole batch.
//
// Follows card.cu. Further constants of engines/cudaplan.py:
//   SHARED_SUMS, LANES, WIDE, WRITTEN, NEAR, SUMS, SCRATCH, PREVIOUS_AT, TRACED, TRACED_PREVIOUS_AT
//
// A layer's time map is padded, so that a neighbourhood never leaves it: entry j of a surface is map[corner + step[j]].
// A layer with a small neighbourhood writes its surface out (in shared memory) and measures distances; a wide one (Full)
// keeps its dot products running, and sums its update by the adjoint, backwards in time:
//   dC[n, e] = sum over events k at entry e of w_k R_n(k),   w = 1 - v_old,   R_n(k) = sum over later outputs i of n: g_i exp(-(t_i - t_k) / tau)

constexpr int NEVER = -(1 << 30);   // a time; exp2 of the difference to any other is 0

__device__ __forceinline__ float warp_sum(float v) { for (int s = 16; s; s >>= 1) v += __shfl_xor_sync(ALL, v, s); return v; }

constexpr int OWN_WIDE = WIDE ? WIDE : 1;

struct Log { float4* line; int* unit; };

// What one warp knows of the event and the recording it is at.
struct State {
  float dist[LAYERS][LANES];     // squared distance of the units of this lane
  float dot[OWN_WIDE][LANES], norm[OWN_WIDE];
  int last[OWN_WIDE];
  float dth[LAYERS][LANES], dg[LAYERS][LANES];
  float S[LAYERS], dS[LAYERS];
  int* near;                     // maps in shared memory
  const Rates* rates;            // of each layer, in shared memory
  int network;
  int fired[LAYERS], place[LAYERS], x[MAX_DIMENSIONS + 1], p, t, logged[OWN_WIDE];
};

template <int k, bool LEARN, bool TRACE>
__device__ __forceinline__ bool forward(const Args& a, State& s, int* scratch, float* ts, Log log, int lane, long long at) {
  constexpr Shape shape = SHAPE[k];
  const Layer& layer = a.layer[k];
  const float* centroids = layer.c + (long long)s.network * shape.entries * shape.row;
  const float fade_rate = s.rates[k].fade;
  int* map = (shape.map_near ? s.near : scratch) + shape.map_at;
  int corner = 0, own = s.p;
  #pragma unroll
  for (int d = 0; d < shape.dimensions; d++) {
    const int c = shape.kind == 1 ? s.x[d] - s.x[d] % shape.side[d] : shape.kind == 0 ? s.x[d] : 0;
    corner += c * shape.stride[d];
    own += (shape.kind == 0 ? s.x[d] + shape.side[d] / 2 : s.x[d]) * shape.stride[d];
  }
  const int before = map[own];
  __syncwarp();
  if (lane == 0) map[own] = s.t;
  __syncwarp();
  constexpr int lanes = SHAPE[k].lanes;
  if constexpr (shape.wide) {
    constexpr int q = SHAPE[k].wide_at;
    const float old = before == NEVER ? 0.f : ex2((before - s.t) * fade_rate), w = 1.f - old;
    const float fade = ex2((s.last[q] - s.t) * fade_rate);
    s.norm[q] = s.norm[q] * fade * fade + 1.f - old * old;
    s.last[q] = s.t;
    #pragma unroll
    for (int u = 0; u < lanes; u++) {
      const int n = lane + 32 * u;
      if (n < shape.units) s.dot[q][u] = fmaf(s.dot[q][u], fade, w * __ldg(centroids + (long long)own * shape.row + n));
      s.dist[k][u] = n < shape.units ? s.norm[q] - 2.f * s.dot[q][u] + layer.cc[s.network * shape.units + n] : 3e38f;
    }
    if (LEARN && lane == 0) log.line[q * a.log_stride + s.logged[q]] = make_float4(__int_as_float(own), w, 0.f, __int_as_float(s.t));
    if (TRACE && a.surfaces && a.surface_layer == k)
      for (int j = lane; j < shape.entries; j += 32)
        a.surfaces[a.row[at] * shape.entries + j] = map[j] == NEVER ? 0.f : ex2((map[j] - s.t) * fade_rate);
  } else {
    float* mine = ts + SHAPE[k].written_at;
    for (int j = lane; j < shape.entries; j += 32) {
      const int then = map[corner + __ldg(layer.step + j)];
      const float v = then == NEVER ? 0.f : ex2((then - s.t) * fade_rate);
      mine[j] = v;
      if (TRACE && a.surfaces && a.surface_layer == k) a.surfaces[a.row[at] * shape.entries + j] = v;
    }
    __syncwarp();
    #pragma unroll
    for (int u = 0; u < lanes; u++) {
      const int n = lane + 32 * u;
      float sum = 3e38f;
      if (n < shape.units) {
        sum = 0.f;
        #pragma unroll 8
        for (int j = 0; j < shape.entries; j++) { const float v = mine[j] - __ldg(centroids + (long long)j * shape.row + n); sum = fmaf(v, v, sum); }
      }
      s.dist[k][u] = sum;
    }
  }
  float best = 3e38f; int f = 1 << 30;
  #pragma unroll
  for (int u = 0; u < lanes; u++) if (s.dist[k][u] < best) { best = s.dist[k][u]; f = lane + 32 * u; }
  for (int o = 16; o; o >>= 1) {  // ties: the lowest unit
    const float other = __shfl_xor_sync(ALL, best, o); const int g = __shfl_xor_sync(ALL, f, o);
    if (other < best || (other == best && g < f)) { best = other; f = g; }
  }
  if (f >= shape.units) f = 0;  // nothing but NaN: the host will say so
  const float distance = sqrtf(fmaxf(best, 0.f));
  const bool pass = distance < layer.th[s.network * shape.units + f];
  s.fired[k] = f;
  if (TRACE && lane == 0) { a.winner[at * LAYERS + k] = f; a.distance[at * LAYERS + k] = distance; a.passed[at] = k + pass; }
  int place = 0;
  #pragma unroll
  for (int d = 0; d < shape.dimensions; d++) if (shape.kind != 2) {
    s.x[d] = shape.kind == 1 ? s.x[d] / shape.side[d] : s.x[d];
    place = place * shape.out[d] + s.x[d];
  }
  s.p = f; s.place[k] = place;
  if (pass && (k > 0 || LAYERS == 1 || TRACE) && lane == 0) scratch[shape.feedback_at + place * shape.units + f] = s.t;
  return pass;
}

template <int k, bool LEARN, bool TRACE>
__device__ __forceinline__ void up(const Args& a, State& s, int* scratch, float* ts, Log log, int lane, long long at, int& passed) {
  if constexpr (k < LAYERS) {
    const bool pass = forward<k, LEARN, TRACE>(a, s, scratch, ts, log, lane, at);
    if constexpr (SHAPE[k].wide) s.logged[SHAPE[k].wide_at]++;
    if (pass) { passed = k + 1; up<k + 1, LEARN, TRACE>(a, s, scratch, ts, log, lane, at, passed); }
  }
}

template <int k, bool TRACE>
__device__ __forceinline__ void judge(const Args& a, State& s, int* scratch, int lane, float G, long long at) {
  constexpr Shape shape = SHAPE[k];
  const int* FT = scratch + shape.feedback_at + s.place[k] * shape.units;
  float others = 0.f;
  for (int n = lane; n < shape.units; n += 32)
    if (n != s.fired[k] && FT[n] != NEVER) others += ex2((FT[n] - s.t) * s.rates[k].feedback);
  s.S[k] = G * (1.f - warp_sum(others) / (shape.units > 1 ? shape.units - 1 : 1));
  float* previous = (float*)scratch + shape.previous_at + s.place[k];
  s.dS[k] = s.S[k] - *previous;
  __syncwarp();
  if (lane == 0) { *previous = s.S[k]; if (TRACE) a.S[at * LAYERS + k] = s.S[k]; }
}

template <int k>
__device__ __forceinline__ void learn(const Args& a, State& s, const float* ts, Log log, Sum* shared, int lane) {
  constexpr Shape shape = SHAPE[k];
  constexpr int above = k + 1 < LAYERS ? k + 1 : k;
  const Layer& layer = a.layer[k];
  const float S = s.S[above], dS = s.dS[above];
  const Rates& rates = s.rates[k];
  const float gain = rates.alpha * dS + rates.beta * S, step = rates.gamma * dS + rates.delta * S;
  const bool compete = (rates.flags & COMPETITION) && S >= -SLACK && dS >= -SLACK;
  const int f = s.fired[k];
  #pragma unroll
  for (int u = 0; u < SHAPE[k].lanes; u++) {
    const int n = lane + 32 * u;
    if (n == f) s.dg[k][u] += gain;
    if (n < shape.units && (n == f || compete)) {
      const float th = layer.th[s.network * shape.units + n], distance = sqrtf(fmaxf(s.dist[k][u], 0.f));
      if (n == f || distance < th) {
        const float near = ex2(-(rates.flags & CENTRE ? distance : th - distance) * rates.d);
        s.dth[k][u] += isinf(th) ? 0.f : n == f ? step * near : -step * near;
      }
    }
  }
  if constexpr (shape.wide) {
    if (lane == 0) {
      const long long at = SHAPE[k].wide_at * a.log_stride + s.logged[SHAPE[k].wide_at] - 1;
      log.line[at].z = gain;
      log.unit[at] = f;
    }
  } else {
    for (int j = lane; j < shape.entries; j += 32) {
      const float value = gain * ts[SHAPE[k].written_at + j];
      if (SHARED_SUMS) shared[SHAPE[k].sums_at + j * shape.units + f] += exact(value);  // this warp's own
      else add(layer.dc + ((long long)s.network * shape.entries + j) * shape.row + f, value);
    }
  }
}

template <int k, bool TRACE>
__device__ __forceinline__ void judge_all(const Args& a, State& s, int* scratch, int lane, float G, long long at) {
  if constexpr (k < LAYERS) {
    if constexpr (k > 0 || LAYERS == 1 || TRACE) judge<k, TRACE>(a, s, scratch, lane, G, at);
    judge_all<k + 1, TRACE>(a, s, scratch, lane, G, at);
  }
}

template <int k>
__device__ __forceinline__ void learn_all(const Args& a, State& s, const float* ts, Log log, Sum* shared, int lane) {
  if constexpr (k < LAYERS) { learn<k>(a, s, ts, log, shared, lane); learn_all<k + 1>(a, s, ts, log, shared, lane); }
}

// Sums of a wide layer over the events of one recording, from the last to the first; then what the warp summed up itself.
template <int k>
__device__ __forceinline__ void backward(const Args& a, State& s, Log log, int lane) {
  if constexpr (k < LAYERS) {
    constexpr Shape shape = SHAPE[k];
    const Layer& layer = a.layer[k];
    if constexpr (shape.wide) {
      constexpr int q = SHAPE[k].wide_at;
      float R[SHAPE[k].lanes] = {};
      int later = s.last[q];
      for (int i = s.logged[q] - 1; i >= 0; i--) {
        const float4 line = log.line[q * a.log_stride + i];
        const int f = log.unit[q * a.log_stride + i], t = __float_as_int(line.w);
        const float fade = ex2((t - later) * s.rates[k].fade);
        later = t;
        #pragma unroll
        for (int u = 0; u < SHAPE[k].lanes; u++) {
          const int n = lane + 32 * u;
          R[u] = R[u] * fade + (n == f ? line.z : 0.f);
          const float v = line.y * R[u];
          if (n < shape.units && v != 0.f) add(layer.dc + ((long long)s.network * shape.entries + __float_as_int(line.x)) * shape.row + n, v);
        }
      }
    }
    #pragma unroll
    for (int u = 0; u < SHAPE[k].lanes; u++) {
      const int n = lane + 32 * u;
      if (n < shape.units) {
        if (s.dg[k][u] != 0.f) add(layer.dg + s.network * shape.units + n, s.dg[k][u]);
        if (s.dth[k][u] != 0.f) add(layer.dth + s.network * shape.units + n, s.dth[k][u]);
      }
      s.dg[k][u] = s.dth[k][u] = 0.f;
    }
    backward<k + 1>(a, s, log, lane);
  }
}

template <int k>
__device__ __forceinline__ void flush(const Args& a, const Sum* shared, int network) {
  if constexpr (k < LAYERS) {
    if constexpr (!SHAPE[k].wide)
      for (int i = threadIdx.x; i < SHAPE[k].entries * SHAPE[k].units; i += blockDim.x) {
        Sum sum = 0;
        for (int w = 0; w < (blockDim.x >> 5); w++) sum += shared[w * SUMS + SHAPE[k].sums_at + i];
        const long long j = i / SHAPE[k].units, n = i % SHAPE[k].units;
        if (sum != 0) atomicAdd(a.layer[k].dc + (network * (long long)SHAPE[k].entries + j) * SHAPE[k].row + n, sum);
      }
    flush<k + 1>(a, shared, network);
  }
}

template <bool LEARN, bool TRACE>
__device__ __forceinline__ void run(const Args& a) {
  extern __shared__ char memory[];
  constexpr Shape input = SHAPE[0];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  Sum* shared = (Sum*)memory;  // sums, [warp][SUMS]; then surfaces and maps, [warp][WRITTEN + NEAR]
  constexpr int sums = LEARN && SHARED_SUMS ? SUMS : 0;
  float* ts = (float*)(shared + warps * sums) + warp * (WRITTEN + NEAR);
  const int network = blockIdx.y, batch = *a.batch, from = a.bounds[batch], to = a.bounds[batch + 1];
  __shared__ Rates rates[LAYERS];
  if (threadIdx.x < LAYERS) rates[threadIdx.x] = rates_now(a, network, threadIdx.x);
  for (int i = threadIdx.x; i < warps * sums; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  const long long slot = ((long long)network * gridDim.x + blockIdx.x) * warps + warp;
  int* scratch = a.scratch + slot * (TRACE ? TRACED : SCRATCH);
  const Log log = {a.log + slot * WIDE * a.log_stride, a.log_unit + slot * WIDE * a.log_stride};
  State s = {};
  s.near = (int*)(ts + WRITTEN);
  s.rates = rates;
  s.network = network;
  while (true) {
    int q = 0;
    if (lane == 0) q = from + atomicAdd(a.next + network, 1);
    q = __shfl_sync(ALL, q, 0);
    if (q >= to) break;
    const long long out = (long long)network * a.recordings + q;
    const int label = a.label[out];
    const long long first = a.start[out], last = a.stop[out];
    const int began = first < last ? a.t[first] : 0;
    for (int i = lane; i < SCRATCH; i += 32) scratch[i] = i < PREVIOUS_AT ? NEVER : 0;
    if (TRACE) for (int i = SCRATCH + lane; i < TRACED; i += 32) scratch[i] = i < TRACED_PREVIOUS_AT ? NEVER : 0;
    for (int i = lane; i < NEAR; i += 32) s.near[i] = NEVER;
    #pragma unroll
    for (int w = 0; w < OWN_WIDE; w++) {
      s.norm[w] = 0.f; s.last[w] = 0; s.logged[w] = 0;
      #pragma unroll
      for (int u = 0; u < LANES; u++) s.dot[w][u] = 0.f;
    }
    int votes[SHAPE[LAYERS - 1].lanes] = {}, kept[LAYERS] = {};
    __syncwarp();
    for (long long i = first; i < last; i++) {
      const long long at = TRACE ? a.trace_at[q] + i - first : 0;
      int rest = a.entry[i];
      s.t = (int)((unsigned)a.t[i] - (unsigned)began);  // clocks may wrap: only differences count
      s.p = rest % input.polarities; rest /= input.polarities;
      #pragma unroll
      for (int d = input.dimensions - 1; d >= 0; d--) { s.x[d] = rest % input.field[d]; rest /= input.field[d]; }
      int passed = 0;
      up<0, LEARN, TRACE>(a, s, scratch, ts, log, lane, at, passed);
      #pragma unroll
      for (int k = 0; k < LAYERS; k++) kept[k] += passed > k;
      if (passed < LAYERS) continue;
      const int f = s.fired[LAYERS - 1];
      #pragma unroll
      for (int u = 0; u < SHAPE[LAYERS - 1].lanes; u++) votes[u] += lane + 32 * u == f;
      if (LEARN || TRACE) {
        __syncwarp();
        judge_all<0, TRACE>(a, s, scratch, lane, label < 0 || label == f ? 1.f : -1.f, at);
        if (LEARN) learn_all<0>(a, s, ts, log, shared + warp * sums, lane);
      }
      __syncwarp();
    }
    #pragma unroll
    for (int u = 0; u < SHAPE[LAYERS - 1].lanes; u++)
      if (lane + 32 * u < SHAPE[LAYERS - 1].units) a.votes[out * SHAPE[LAYERS - 1].units + lane + 32 * u] = votes[u];
    #pragma unroll
    for (int k = 0; k < LAYERS; k++) if (lane == 0) a.kept[out * LAYERS + k] = kept[k];
    if (LEARN && lane == 0) atomicAdd(a.output + network, kept[LAYERS - 1]);
    __syncwarp();
    if (LEARN) backward<0>(a, s, log, lane);
    __syncwarp();
  }
  if (sums) { __syncthreads(); flush<0>(a, shared, blockIdx.y); }
}

extern "C" __global__ void __launch_bounds__(128) infer(const __grid_constant__ Args a) { run<false, false>(a); }
extern "C" __global__ void __launch_bounds__(128) trace(const __grid_constant__ Args a) { run<false, true>(a); }
extern "C" __global__ void __launch_bounds__(128) train(const __grid_constant__ Args a) { run<true, false>(a); }
