// The general path: one warp per recording, one event at a time, any network, weights that stay for the whole batch.
//
// A layer's time map is padded, so that a neighbourhood never leaves it: entry j of a surface is map[corner + step[j]].
// A layer with a small neighbourhood lists the entries of its surface that are not 0 (in shared memory); in upper layers these are few:
//   |ts - c|^2 = |c|^2 + sum over the list of v^2 - 2 v c_j
// A wide one (Full) keeps its dot products running, and sums its update by the adjoint, backwards in time:
//   dC[n, e] = sum over events k at entry e of w_k R_n(k),   w = 1 - v_old,   R_n(k) = sum over later outputs i of n: g_i exp(-(t_i - t_k) / tau)
//
// By the delta rule all units of the last layer learn at each of its outputs: R_n gets a gain of every unit n.
//
// Follows general_parts.cu, general_shares.cu and general_learn.cu.

// ---------------------------------------------------------------------- one event, upwards

// Squared distances of a wide layer, from dot products that decay and get one new entry.
template <int k, bool LEARN, bool TRACE>
__device__ __forceinline__ void running_distances(const Args& a, State& s, const int* map, int own, int before, Log log, int lane, long long at) {
  constexpr Shape shape = SHAPE[k];
  constexpr int q = SHAPE[k].wide_at;
  const Layer& layer = a.layer[k];
  const float* centroids = layer.c + (long long)s.network * shape.entries * shape.row;
  const float fade_rate = s.rates[k].fade;
  const float old = before == NEVER ? 0.f : ex2((before - s.t) * fade_rate), w = 1.f - old;
  const float fade = ex2((s.last[q] - s.t) * fade_rate);
  s.norm[q] = s.norm[q] * fade * fade + 1.f - old * old;
  s.last[q] = s.t;
  #pragma unroll
  for (int u = 0; u < SHAPE[k].lanes; u++) {
    const int n = lane + 32 * u;
    if (n < shape.units) s.dot[q][u] = fmaf(s.dot[q][u], fade, w * __ldg(centroids + (long long)own * shape.row + n));
    s.dist[k][u] = n < shape.units ? s.norm[q] - 2.f * s.dot[q][u] + layer.cc[s.network * shape.units + n] : FAR;
  }
  if (LEARN && lane == 0) log.line[q * a.log_stride + s.logged[q]] = make_float4(__int_as_float(own), w, 0.f, __int_as_float(s.t));
  if (TRACE && a.surfaces && a.surface_layer == k)
    for (int j = lane; j < shape.entries; j += 32)
      a.surfaces[a.row[at] * shape.entries + j] = map[j] == NEVER ? 0.f : ex2((map[j] - s.t) * fade_rate);
}

// The surface as a list of what is not 0, filled up to whole fours; returned: how many.
template <int k, bool TRACE>
__device__ __forceinline__ int list_surface(const Args& a, const State& s, const int* map, Spot* spots, int lane, long long at) {
  constexpr Shape shape = SHAPE[k];
  const int corner = corner_of<k>(s.x);
  const float fade = s.rates[k].fade;
  int count = 0;
  #pragma unroll (shape.entries <= 512 ? (shape.entries + 31) / 32 : 4)
  for (int base = 0; base < shape.entries; base += 32) {
    const int j = base + lane;
    const int then = j < shape.entries ? map[corner + __ldg(a.layer[k].step + j)] : NEVER;
    const float v = then == NEVER ? 0.f : ex2((then - s.t) * fade);
    const unsigned some = __ballot_sync(ALL, v > FADED);
    if (v > FADED) spots[count + __popc(some & ((1u << lane) - 1))] = {v, j * shape.row};
    count += __popc(some);
    if (TRACE && a.surfaces && a.surface_layer == k && j < shape.entries) a.surfaces[a.row[at] * shape.entries + j] = v;
  }
  if (lane < (-count & 3)) spots[count + lane] = {0.f, 0};
  __syncwarp();
  return count;
}

// Squared distances from the list: each lane has units lane, lane + 32, ...
template <int k>
__device__ __forceinline__ void listed_distances(const Args& a, State& s, const Spot* spots, int count, int lane) {
  constexpr Shape shape = SHAPE[k];
  constexpr int lanes = SHAPE[k].lanes;
  const Layer& layer = a.layer[k];
  float norm = 0.f, dot[lanes] = {};
  const float* mine = layer.c + (long long)s.network * shape.entries * shape.row + lane;
  const int end = 32 * (lanes - 1) - (lane + 32 * (lanes - 1) < shape.units ? 0 : lane);  // a unit that does not exist reads another
  #pragma unroll 2
  for (int i = 0; i < count; i += 4) {
    const float4 pair[2] = {((const float4*)(spots + i))[0], ((const float4*)(spots + i))[1]};
    #pragma unroll
    for (int e = 0; e < 4; e++) {
      const float v = e & 1 ? pair[e / 2].z : pair[e / 2].x;
      const float* c = mine + __float_as_int(e & 1 ? pair[e / 2].w : pair[e / 2].y);
      norm = fmaf(v, v, norm);
      #pragma unroll
      for (int u = 0; u < lanes; u++)
        dot[u] = fmaf(v, __ldg(c + (u + 1 < lanes || shape.units % 32 == 0 ? 32 * u : end)), dot[u]);
    }
  }
  #pragma unroll
  for (int u = 0; u < lanes; u++) {
    const int n = lane + 32 * u;
    s.dist[k][u] = n < shape.units ? norm - 2.f * dot[u] + layer.cc[s.network * shape.units + n] : FAR;
  }
}

// The closest unit and its distance; ties: the lowest.
template <int k>
__device__ __forceinline__ int closest_unit(const State& s, int lane, float& distance) {
  float best = FAR; int f = 1 << 30;
  #pragma unroll
  for (int u = 0; u < SHAPE[k].lanes; u++) if (s.dist[k][u] < best) { best = s.dist[k][u]; f = lane + 32 * u; }
  const unsigned mine = __float_as_uint(fmaxf(best, 0.f)), least = lowest(mine);  // floats from 0 on are ordered as their bits are
  f = lowest(mine == least ? f : 1 << 30);
  distance = sqrtf(__uint_as_float(least));
  return f < SHAPE[k].units ? f : 0;  // all are NaN: the host checks for that
}

// The event through one layer: whether it passes.
template <int k, bool LEARN, bool TRACE>
__device__ __forceinline__ bool forward(const Args& a, State& s, int* scratch, Spot* ts, Log log, int lane, long long at) {
  constexpr Shape shape = SHAPE[k];
  int* map = (shape.map_near ? s.near : scratch) + shape.map_at;
  const int own = own_of<k>(s.x) + s.p;
  const int before = map[own];
  __syncwarp();
  if (lane == 0) map[own] = s.t;
  __syncwarp();
  if constexpr (shape.wide) running_distances<k, LEARN, TRACE>(a, s, map, own, before, log, lane, at);
  else {
    Spot* spots = ts + SHAPE[k].written_at;
    s.spots[k] = list_surface<k, TRACE>(a, s, map, spots, lane, at);
    listed_distances<k>(a, s, spots, s.spots[k], lane);
  }
  float distance;
  const int f = closest_unit<k>(s, lane, distance);
  const bool pass = distance < a.layer[k].th[s.network * shape.units + f];
  s.fired[k] = f;
  if (TRACE && lane == 0) { a.winner[at * LAYERS + k] = f; a.distance[at * LAYERS + k] = distance; a.passed[at] = k + pass; }
  const int place = onward<k>(s.x);
  s.p = f; s.place[k] = place;
  if (pass && (k > 0 || LAYERS == 1 || TRACE) && lane == 0) scratch[shape.feedback_at + place * shape.units + f] = s.t;
  return pass;
}

template <int k, bool LEARN, bool TRACE>
__device__ __forceinline__ void up(const Args& a, State& s, int* scratch, Spot* ts, Log log, int lane, long long at, int& passed) {
  if constexpr (k < LAYERS) {
    const bool pass = forward<k, LEARN, TRACE>(a, s, scratch, ts, log, lane, at);
    if constexpr (SHAPE[k].wide) s.logged[SHAPE[k].wide_at]++;
    if (pass) { passed = k + 1; up<k + 1, LEARN, TRACE>(a, s, scratch, ts, log, lane, at, passed); }
  }
}

// ---------------------------------------------------------------------- a recording

// All maps and running sums as they are before the first event.
template <bool TRACE>
__device__ __forceinline__ void clear(State& s, int* scratch, int lane) {
  for (int i = 4 * lane; i < SCRATCH; i += 128)
    *(int4*)(scratch + i) = make_int4(i < PREVIOUS_AT ? NEVER : 0, i + 1 < PREVIOUS_AT ? NEVER : 0,
                                      i + 2 < PREVIOUS_AT ? NEVER : 0, i + 3 < PREVIOUS_AT ? NEVER : 0);
  if (TRACE) for (int i = SCRATCH + lane; i < TRACED; i += 32) scratch[i] = i < TRACED_PREVIOUS_AT ? NEVER : 0;
  for (int i = lane; i < NEAR; i += 32) s.near[i] = NEVER;
  #pragma unroll
  for (int w = 0; w < OWN_WIDE; w++) {
    s.norm[w] = 0.f; s.last[w] = 0; s.logged[w] = 0;
    #pragma unroll
    for (int u = 0; u < LANES; u++) s.dot[w][u] = 0.f;
  }
}

struct Counts { int votes[CLASS_LANES], kept[LAYERS]; double evidence[CLASS_LANES]; };

template <bool LEARN, bool TRACE>
__device__ __forceinline__ void run_events(const Args& a, State& s, Counts& counts, int* scratch, Spot* ts, Log log, Sum* shared, int q, long long out, int lane) {
  const int label = a.label[out];
  const long long first = a.start[out], last = a.stop[out];
  const int began = first < last ? a.t[first] : 0;
  clear<TRACE>(s, scratch, lane);
  __syncwarp();
  for (long long i = first; i < last; i++) {
    const long long at = TRACE ? a.trace_at[q] + i - first : 0;
    s.t = (int)((unsigned)a.t[i] - (unsigned)began);  // clocks may wrap: only differences count
    s.p = place_of(a.entry[i], s.x);
    if (i + 1 < last) { int x[MAX_DIMENSIONS + 1]; place_of(a.entry[i + 1], x); look_ahead<0>(a, x, scratch, lane); }
    int passed = 0;
    up<0, LEARN, TRACE>(a, s, scratch, ts, log, lane, at, passed);
    #pragma unroll
    for (int k = 0; k < LAYERS; k++) counts.kept[k] += passed > k;
    if (passed < LAYERS) continue;
    const int f = s.fired[TOP];
    #pragma unroll
    for (int u = 0; u < CLASS_LANES; u++) counts.votes[u] += lane + 32 * u == class_of(f);
    if (EVIDENCE && !LEARN) weigh(s, counts.evidence, lane);
    if (LEARN || TRACE) {
      __syncwarp();
      judge_all<0, TRACE>(a, s, scratch, lane, sign_of(label, f), at);
      if (LEARN) learn_all<0>(a, s, label, ts, log, shared, lane);
    }
    __syncwarp();
  }
}

template <bool LEARN>
__device__ __forceinline__ void write_counts(const Args& a, const Counts& counts, int network, long long out, int lane) {
  #pragma unroll
  for (int u = 0; u < CLASS_LANES; u++)
    if (lane + 32 * u < CLASSES) {
      const long long at = out * CLASSES + lane + 32 * u;
      a.votes[at] = counts.votes[u];
      if (EVIDENCE && !LEARN) a.evidence[at] = counts.evidence[u];
    }
  #pragma unroll
  for (int k = 0; k < LAYERS; k++) if (lane == 0) a.kept[out * LAYERS + k] = counts.kept[k];
  if (LEARN && lane == 0) atomicAdd(a.output + network, counts.kept[TOP]);
}

template <bool LEARN, bool TRACE>
__device__ __forceinline__ void run(const Args& a) {
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  Sum* shared = (Sum*)memory;  // sums, [warp][SUMS]; then surfaces and maps, [warp][WRITTEN + NEAR]
  constexpr int sums = LEARN ? SUMS : 0;
  Spot* ts = (Spot*)(shared + warps * sums) + warp * (WRITTEN + NEAR / 2);
  const int network = blockIdx.y, batch = *a.batch, from = a.bounds[batch], to = a.bounds[batch + 1];
  __shared__ Rates rates[LAYERS];
  if (threadIdx.x < LAYERS) rates[threadIdx.x] = rates_now(a, network, threadIdx.x);
  for (int i = threadIdx.x; i < warps * sums; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  const long long slot = ((long long)network * gridDim.x + blockIdx.x) * warps + warp;
  int* scratch = a.scratch + slot * (TRACE ? TRACED : SCRATCH);
  const Log log = {a.log + slot * WIDE * a.log_stride, a.log_unit + slot * WIDE * a.log_stride, a.log_gain + slot * SHAPE[TOP].units * a.log_stride};
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
    Counts counts = {};
    run_events<LEARN, TRACE>(a, s, counts, scratch, ts, log, shared + warp * sums, q, out, lane);
    write_counts<LEARN>(a, counts, network, out, lane);
    __syncwarp();
    if (LEARN) give_all<0>(a, s, log, lane);
    __syncwarp();
  }
  if (sums) { __syncthreads(); flush<0>(a, shared, blockIdx.y); }
}

extern "C" __global__ void __launch_bounds__(32 * GENERAL_WARPS) infer(const __grid_constant__ Args a) { run<false, false>(a); }
extern "C" __global__ void __launch_bounds__(32 * GENERAL_WARPS) trace(const __grid_constant__ Args a) { run<false, true>(a); }
extern "C" __global__ void __launch_bounds__(32 * GENERAL_WARPS) train(const __grid_constant__ Args a) { run<true, false>(a); }
