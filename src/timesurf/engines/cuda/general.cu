// The general path: one warp per recording, one event at a time, any network, weights that stay for the whole batch.
//
// Follows card.cu and step.cu. Further constants of general.py:
//   LANES, WIDE, WRITTEN, NEAR, SUMS, SCRATCH, PREVIOUS_AT, TRACED, TRACED_PREVIOUS_AT
//
// A layer's time map is padded, so that a neighbourhood never leaves it: entry j of a surface is map[corner + step[j]].
// A layer with a small neighbourhood lists the entries of its surface that are not 0 (in shared memory); in upper layers these are few:
//   |ts - c|^2 = |c|^2 + sum over the list of v^2 - 2 v c_j
// A wide one (Full) keeps its dot products running, and sums its update by the adjoint, backwards in time:
//   dC[n, e] = sum over events k at entry e of w_k R_n(k),   w = 1 - v_old,   R_n(k) = sum over later outputs i of n: g_i exp(-(t_i - t_k) / tau)

constexpr int NEVER = -(1 << 30);   // a time; exp2 of the difference to any other is 0
constexpr float FADED = 0x1p-24f;   // beside the 1 of the event itself, as good as 0
constexpr float FAR = 3e38f;        // the squared distance of a unit that does not exist

struct __align__(8) Spot { float value; int at; };   // an entry of a surface that is not 0; and where that entry of the centroids begins

__device__ __forceinline__ unsigned lowest(unsigned v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(ALL, v);
#else
  for (int s = 16; s; s >>= 1) v = min(v, __shfl_xor_sync(ALL, v, s));
  return v;
#endif
}
__device__ __forceinline__ float warp_sum(float v) { for (int s = 16; s; s >>= 1) v += __shfl_xor_sync(ALL, v, s); return v; }

constexpr int OWN_WIDE = WIDE ? WIDE : 1, TOP = LAYERS - 1;

struct Log { float4* line; int* unit; };

// What one warp knows of the current event and recording.
struct State {
  float dist[LAYERS][LANES];     // squared distance of the units of this lane
  float dot[OWN_WIDE][LANES], norm[OWN_WIDE];
  int last[OWN_WIDE];
  float dth[LAYERS][LANES], dg[LAYERS][LANES];
  float S[LAYERS], dS[LAYERS];
  int* near;                     // maps in shared memory
  const Rates* rates;            // of each layer, in shared memory
  int network;
  int fired[LAYERS], place[LAYERS], spots[LAYERS], x[MAX_DIMENSIONS + 1], p, t, logged[OWN_WIDE];
};

// ---------------------------------------------------------------------- places

// The place of an input event; returned: its polarity.
__device__ __forceinline__ int place_of(int entry, int* x) {
  constexpr Shape input = SHAPE[0];
  int rest = entry / input.polarities;
  #pragma unroll
  for (int d = input.dimensions - 1; d >= 0; d--) { x[d] = rest % input.field[d]; rest /= input.field[d]; }
  return entry % input.polarities;
}

// Where a layer's neighbourhood of x begins on its map.
template <int k>
__device__ __forceinline__ int corner_of(const int* x) {
  constexpr Shape shape = SHAPE[k];
  int corner = 0;
  #pragma unroll
  for (int d = 0; d < shape.dimensions; d++) if (shape.cell[d]) corner += (x[d] - x[d] % shape.cell[d]) * shape.stride[d];
  return corner;
}

// Where x itself lies on the map.
template <int k>
__device__ __forceinline__ int own_of(const int* x) {
  constexpr Shape shape = SHAPE[k];
  int own = 0;
  #pragma unroll
  for (int d = 0; d < shape.dimensions; d++) own += (x[d] + shape.pad[d]) * shape.stride[d];
  return own;
}

// Where an event is follows from its input alone, so what the maps hold there is fetched one event ahead.
template <int k>
__device__ __forceinline__ void look_ahead(const Args& a, int* x, const int* scratch, int lane) {
  if constexpr (k < LAYERS) {
    constexpr Shape shape = SHAPE[k];
    const int* map = scratch + shape.map_at;
    if constexpr (shape.map_near) {
    } else if constexpr (shape.wide) {
      const int own = own_of<k>(x);
      for (int p = 32 * lane; p < shape.polarities; p += 1024) fetch(map + own + p);
    } else {
      const int corner = corner_of<k>(x);
      for (int j = 32 * lane; j < shape.entries; j += 1024) fetch(map + corner + __ldg(a.layer[k].step + j));
    }
    const int place = onward<k>(x);
    if constexpr (k > 0 && shape.out_dimensions > 0) {
      for (int n = 32 * lane; n < shape.units; n += 1024) fetch(scratch + shape.feedback_at + place * shape.units + n);
      if (lane == 31) fetch(scratch + shape.previous_at + place);
    }
    look_ahead<k + 1>(a, x, scratch, lane);
  }
}

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

// ---------------------------------------------------------------------- what it teaches

// S and dS of a layer.
template <int k, bool TRACE>
__device__ __forceinline__ void judge(const Args& a, State& s, int* scratch, int lane, float G, long long at) {
  constexpr Shape shape = SHAPE[k];
  const int* FT = scratch + shape.feedback_at + s.place[k] * shape.units;
  float others = 0.f;
  for (int n = lane; n < shape.units; n += 32)
    if (n != s.fired[k] && FT[n] != NEVER) others += ex2((FT[n] - s.t) * s.rates[k].feedback);
  s.S[k] = separability(G, warp_sum(others) / OTHERS<shape.units>);
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

// gain x surface: into this warp's sums in shared memory, or the batch's; a wide layer only logs it.
template <int k>
__device__ __forceinline__ void sum_surface(const Args& a, State& s, float gain, const Spot* ts, Log log, Sum* shared, int lane) {
  constexpr Shape shape = SHAPE[k];
  const int f = s.fired[k];
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

template <int k>
__device__ __forceinline__ void learn_all(const Args& a, State& s, const Spot* ts, Log log, Sum* shared, int lane) {
  if constexpr (k < LAYERS) {
    constexpr int above = k + 1 < LAYERS ? k + 1 : k;
    const Step step = step_of(s.rates[k], s.S[above], s.dS[above]);
    #pragma unroll
    for (int u = 0; u < SHAPE[k].lanes; u++) if (lane + 32 * u == s.fired[k]) s.dg[k][u] += step.gain;
    sum_thresholds<k>(a, s, step, lane);
    sum_surface<k>(a, s, step.gain, ts, log, shared, lane);
    learn_all<k + 1>(a, s, ts, log, shared, lane);
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
    for (int e = 0; e < min(top, 32); e++) {
      const float fade = __shfl_sync(ALL, fades, e), w = __shfl_sync(ALL, line.y, e), gain = __shfl_sync(ALL, line.z, e);
      const int entry = __float_as_int(__shfl_sync(ALL, line.x, e)), f = __shfl_sync(ALL, unit, e);
      #pragma unroll
      for (int u = 0; u < SHAPE[k].lanes; u++) {
        const int n = lane + 32 * u;
        R[u] = R[u] * fade + (n == f ? gain : 0.f);
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

struct Counts { int votes[SHAPE[TOP].lanes], kept[LAYERS]; };

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
    for (int u = 0; u < SHAPE[TOP].lanes; u++) counts.votes[u] += lane + 32 * u == f;
    if (LEARN || TRACE) {
      __syncwarp();
      judge_all<0, TRACE>(a, s, scratch, lane, sign_of(label, f), at);
      if (LEARN) learn_all<0>(a, s, ts, log, shared, lane);
    }
    __syncwarp();
  }
}

template <bool LEARN>
__device__ __forceinline__ void write_counts(const Args& a, const Counts& counts, int network, long long out, int lane) {
  #pragma unroll
  for (int u = 0; u < SHAPE[TOP].lanes; u++)
    if (lane + 32 * u < SHAPE[TOP].units) a.votes[out * SHAPE[TOP].units + lane + 32 * u] = counts.votes[u];
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
