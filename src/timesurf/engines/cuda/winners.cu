// One Window layer whose weights stay: the unit that fires for each event, and where its output goes. Follows card.cu and halves.cu.
//
// What a surface holds depends on earlier input events alone. So a block of threads takes a recording, or a part of it, TILE events at a time:
//   1. build     their surfaces as the time map was before the tile, all at once, into shared memory, each value in two half-precision parts;
//   2. correct   entries that events of the tile itself set: event j is the last at its entry until `until[j]`, so each entry has one writer;
//   3. multiply  products with all centroids on the tensor cores, three for the parts of both factors; the closest unit of each event is kept;
//   4. measure   where there are thresholds: the distance to that unit, from the differences themselves.
// Column 2 q of a surface is its entry q, column 2 q + 1 entry q + PAIRS: a lane builds both, and they are written as one word.
//
// Further constants of winners.py: struct Given, TILE, ALONG, NEAR, MEASURED, BESIDE, and of the map MAP, MAP_STRIDE, OWN

constexpr Shape LAYER = SHAPE[0];
constexpr int ENTRIES = LAYER.entries, UNITS = LAYER.units, POLARITIES = LAYER.polarities, DIMENSIONS = LAYER.dimensions;
constexpr int STEPS = (ENTRIES + 15) / 16, COLUMNS = 16 * STEPS, PAIRS = COLUMNS / 2, LOADS = (PAIRS + 31) / 32;
constexpr int STRIDE = COLUMNS + 8;                 // of surfaces, in halves: an odd number of 16 bytes, so that no two rows ask the same bank
constexpr int WARPS = 4, THREADS = 32 * WARPS;
constexpr int GROUPS = (UNITS + 31) / 32;           // of 32 units; ALONG warps share them, the others take other events
constexpr int MT = TILE / 16 / (WARPS / ALONG), NT = 4;   // pieces of 16 events and of 8 units that a warp multiplies at a time
constexpr int NEVER = -(1 << 30);                   // a time
constexpr float FAR = 3e38f;

struct Tile {                                       // in shared memory
  unsigned top[TILE * STRIDE / 2], low[TILE * STRIDE / 2];   // surfaces: larger and smaller parts
  int x[DIMENSIONS][TILE], p[TILE], t[TILE], corner[TILE], own[TILE], until[TILE];
  float best[ALONG][TILE];
  int unit[ALONG][TILE];
  int taken;
  int map[NEAR ? MAP : 4];
};

// ---------------------------------------------------------------------- events and the time map

struct Event { int x[DIMENSIONS], p, place, corner; };

__device__ __forceinline__ Event event_of(int entry) {
  constexpr Shape shape = LAYER;
  constexpr int stride[] = MAP_STRIDE;
  Event event;
  event.p = entry % POLARITIES; event.place = entry / POLARITIES; event.corner = 0;
  int rest = event.place;
  #pragma unroll
  for (int d = DIMENSIONS - 1; d >= 0; d--) {
    event.x[d] = rest % shape.field[d]; rest /= shape.field[d];
    event.corner += event.x[d] * stride[d];
  }
  return event;
}

// From the corner of a window to one of its entries, on the map.
__device__ __forceinline__ int inside(int n) {
  constexpr Shape shape = LAYER;
  constexpr int stride[] = MAP_STRIDE;
  int at = n % POLARITIES; n /= POLARITIES;
  #pragma unroll
  for (int d = DIMENSIONS - 1; d >= 0; d--) { at += n % shape.side[d] * stride[d]; n /= shape.side[d]; }
  return at;
}

// The map as the events before this part of the recording leave it: as time never goes back, the latest is the largest.
__device__ __forceinline__ void replay(int* map, const int* entries, const int* times, int before) {
  for (int i = threadIdx.x; i < MAP; i += THREADS) map[i] = NEVER;
  __syncthreads();
  for (int i = threadIdx.x; i < before; i += THREADS) {
    const Event event = event_of(entries[i]);
    atomicMax(map + event.corner + OWN + event.p, (int)((unsigned)times[i] - (unsigned)times[0]));
  }
}

// ---------------------------------------------------------------------- surfaces

__device__ __forceinline__ float value_of(int then, int now, float fade) { return then == NEVER ? 0.f : ex2((float)(then - now) * fade); }

__device__ __forceinline__ void build(Tile& tile, const int* map, const int (&step)[2][LOADS], float fade) {
  const int lane = threadIdx.x & 31;
  #pragma unroll 2
  for (int i = threadIdx.x >> 5; i < TILE; i += WARPS) {
    const int *from = map + tile.corner[i], now = tile.t[i];
    int then[2][LOADS];
    #pragma unroll
    for (int l = 0; l < LOADS; l++) { then[0][l] = from[step[0][l]]; then[1][l] = from[step[1][l]]; }
    #pragma unroll
    for (int l = 0; l < LOADS; l++) {
      const int q = lane + 32 * l;
      const float one = q < ENTRIES ? value_of(then[0][l], now, fade) : 0.f, two = q + PAIRS < ENTRIES ? value_of(then[1][l], now, fade) : 0.f;
      const unsigned top = pack(one, two);
      if (q < PAIRS) { tile.top[i * (STRIDE / 2) + q] = top; tile.low[i * (STRIDE / 2) + q] = rest(one, two, top); }
    }
  }
}

// Until which event of the tile each is the last at its entry.
__device__ __forceinline__ void look_ahead(Tile& tile, int count) {
  const int j = threadIdx.x % TILE;
  if (j >= count) return;
  const int own = tile.own[j];
  for (int k = j + 1 + threadIdx.x / TILE; k < count; k += THREADS / TILE) if (tile.own[k] == own) { atomicMin(tile.until + j, k); break; }
}

// What events of the tile set in surfaces of it, their own among them; then the map as the tile leaves it.
__device__ __forceinline__ void correct(Tile& tile, int* map, int count, float fade) {
  constexpr Shape shape = LAYER;
  const int i = threadIdx.x % TILE;
  if (i < count) {
    int x[DIMENSIONS];
    #pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) x[d] = tile.x[d][i] - shape.pad[d];
    const int now = tile.t[i];
    for (int j = threadIdx.x / TILE; j <= i; j += THREADS / TILE) {
      bool within = i < tile.until[j];
      int at = 0;
      #pragma unroll
      for (int d = 0; d < DIMENSIONS; d++) {
        const int away = tile.x[d][j] - x[d];
        within = within && (unsigned)away < (unsigned)shape.side[d];
        at = at * shape.side[d] + away;
      }
      if (within) {
        at = at * POLARITIES + tile.p[j];
        const int column = at < PAIRS ? 2 * at : 2 * (at - PAIRS) + 1;
        const float v = ex2((float)(tile.t[j] - now) * fade);
        const unsigned top = pack(v, 0.f);
        ((unsigned short*)tile.top)[i * STRIDE + column] = (unsigned short)top;
        ((unsigned short*)tile.low)[i * STRIDE + column] = (unsigned short)rest(v, 0.f, top);
      }
    }
  }
  if (threadIdx.x < count && tile.until[threadIdx.x] >= count) map[tile.own[threadIdx.x]] = tile.t[threadIdx.x];
}

// ---------------------------------------------------------------------- the closest unit

__device__ __forceinline__ void keep_closer(float d, int f, float& best, int& unit) { if (d < best || (d == best && f < unit)) { best = d; unit = f; } }

// Of every event, among the groups of units of this warp: |c|^2 - 2 c ts, as |ts|^2 is the same for all. A lane has rows lane / 4 + 8 r.
__device__ __forceinline__ void multiply(Tile& tile, const Given& given) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, along = warp % ALONG, row = warp / ALONG * MT * 16;
  const unsigned from = ((row + (lane & 15)) * STRIDE + (lane >> 4) * 8) * 2;
  const unsigned top_at = (unsigned)__cvta_generic_to_shared(tile.top) + from, low_at = (unsigned)__cvta_generic_to_shared(tile.low) + from;
  float best[2 * MT]; int unit[2 * MT];
  #pragma unroll
  for (int r = 0; r < 2 * MT; r++) { best[r] = FAR; unit[r] = 0; }
  for (int group = along; group < GROUPS; group += ALONG) {
    float sum[MT][NT][4];
    #pragma unroll
    for (int i = 0; i < MT * NT * 4; i++) (&sum[0][0][0])[i] = 0.f;
    const uint4* b = given.centroids + (long long)group * STEPS * NT * 32 + lane;
    uint4 now[NT], ahead[NT];
    #pragma unroll
    for (int nt = 0; nt < NT; nt++) now[nt] = __ldg(b + nt * 32);
    #pragma unroll 2
    for (int step = 0; step < STEPS; step++) {
      const uint4* following = b + (step + 1 < STEPS ? step + 1 : step) * NT * 32;
      #pragma unroll
      for (int nt = 0; nt < NT; nt++) ahead[nt] = __ldg(following + nt * 32);
      #pragma unroll
      for (int mt = 0; mt < MT; mt++) {
        unsigned top[4], low[4];
        load_matrix(top, top_at + (mt * 16 * STRIDE + step * 16) * 2);
        load_matrix(low, low_at + (mt * 16 * STRIDE + step * 16) * 2);
        #pragma unroll
        for (int nt = 0; nt < NT; nt++) product(sum[mt][nt], low, now[nt].x, now[nt].y);
        #pragma unroll
        for (int nt = 0; nt < NT; nt++) product(sum[mt][nt], top, now[nt].z, now[nt].w);
        #pragma unroll
        for (int nt = 0; nt < NT; nt++) product(sum[mt][nt], top, now[nt].x, now[nt].y);
      }
      #pragma unroll
      for (int nt = 0; nt < NT; nt++) now[nt] = ahead[nt];
    }
    #pragma unroll
    for (int nt = 0; nt < NT; nt++) {
      const int f = group * 32 + nt * 8 + 2 * (lane & 3);
      const float2 length = __ldg((const float2*)(given.lengths + f));
      #pragma unroll
      for (int r = 0; r < 2 * MT; r++) {            // units come in order, so that of equal ones the lowest stays
        const float one = fmaf(-2.f, sum[r >> 1][nt][2 * (r & 1)], length.x), two = fmaf(-2.f, sum[r >> 1][nt][2 * (r & 1) + 1], length.y);
        if (one < best[r]) { best[r] = one; unit[r] = f; }
        if (two < best[r]) { best[r] = two; unit[r] = f + 1; }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 2 * MT; r++) {                // four lanes share a row
    #pragma unroll
    for (int s = 1; s < 4; s *= 2) keep_closer(__shfl_xor_sync(ALL, best[r], s), __shfl_xor_sync(ALL, unit[r], s), best[r], unit[r]);
    if ((lane & 3) == 0) { const int i = row + 8 * r + (lane >> 2); tile.best[along][i] = best[r]; tile.unit[along][i] = unit[r]; }
  }
}

// Whether each event is closer to its unit than the threshold: else its unit becomes -1.
__device__ __forceinline__ void measure(Tile& tile, const Given& given, int count) {
  const int lane = threadIdx.x & 31;
  for (int i = threadIdx.x >> 5; i < count; i += WARPS) {
    const int f = tile.unit[0][i];
    float square = 0.f;
    for (int q = lane; q < PAIRS; q += 32) {
      const float2 top = unpack(tile.top[i * (STRIDE / 2) + q]), low = unpack(tile.low[i * (STRIDE / 2) + q]);
      const float2 c = __ldg((const float2*)(given.rows + (long long)f * COLUMNS) + q);
      const float one = top.x + low.x - c.x, two = top.y + low.y - c.y;
      square = fmaf(one, one, fmaf(two, two, square));
    }
    for (int s = 16; s; s >>= 1) square += __shfl_xor_sync(ALL, square, s);
    __syncwarp();
    if (lane == 0 && !(sqrtf(square) < given.thresholds[f])) tile.unit[0][i] = -1;
  }
}

// ---------------------------------------------------------------------- a part of a recording

__device__ __forceinline__ void run(Tile& tile, int* map, const Given& given, const int (&step)[2][LOADS], int q, int part) {
  const long long first = given.start[q];
  const int all = (int)(given.stop[q] - first), begin = part * given.segment, end = min(begin + given.segment, all);
  if (begin >= end) return;
  const int *entries = given.entry + first, *times = given.t + first;
  const unsigned began = times[0];
  const long long to = given.to[q];
  const bool mine = threadIdx.x < TILE;             // has an event of the tile
  replay(map, entries, times, begin);
  int entry = 0, time = 0;
  if (mine) { const int i = min(begin + (int)threadIdx.x, end - 1); entry = entries[i]; time = times[i]; }
  for (int base = begin; base < end; base += TILE) {
    const int count = min(TILE, end - base), at = threadIdx.x;
    const Event event = event_of(entry);
    const int own_time = time;
    if (mine) {
      #pragma unroll
      for (int d = 0; d < DIMENSIONS; d++) tile.x[d][at] = event.x[d];
      tile.p[at] = event.p; tile.t[at] = (int)((unsigned)time - began);
      tile.corner[at] = event.corner; tile.own[at] = event.corner + OWN + event.p; tile.until[at] = TILE;
      const int i = min(base + TILE + at, end - 1);  // fetched for the next tile
      entry = entries[i]; time = times[i];
    }
    __syncthreads();
    look_ahead(tile, count);
    build(tile, map, step, given.fade);
    __syncthreads();
    correct(tile, map, count, given.fade);
    __syncthreads();
    multiply(tile, given);
    __syncthreads();
    int f = 0;
    if (mine) {
      float best = tile.best[0][at]; f = tile.unit[0][at];
      #pragma unroll
      for (int a = 1; a < ALONG; a++) keep_closer(tile.best[a][at], tile.unit[a][at], best, f);
    }
    if (MEASURED) {
      if (mine) tile.unit[0][at] = f;
      __syncthreads();
      measure(tile, given, count);
      __syncthreads();
      if (mine) f = tile.unit[0][at];
    }
    if (mine && at < count) {
      given.out[to + base + at] = f < 0 ? -1 : output_place<0>(event.place) * UNITS + f;
      given.out_t[to + base + at] = own_time;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BESIDE) winners(const __grid_constant__ Given given) {
  extern __shared__ uint4 memory[];
  Tile& tile = *(Tile*)memory;
  int* map = NEAR ? tile.map : given.scratch + (long long)blockIdx.x * MAP;
  int step[2][LOADS];
  #pragma unroll
  for (int l = 0; l < LOADS; l++)
    #pragma unroll
    for (int h = 0; h < 2; h++) { const int n = (threadIdx.x & 31) + 32 * l + h * PAIRS; step[h][l] = inside(n < ENTRIES ? n : 0); }
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) tile.taken = atomicAdd(given.next, 1);
    __syncthreads();
    const int item = tile.taken;
    if (item >= given.items) break;
    run(tile, map, given, step, item / given.parts, item % given.parts);
  }
}
