// One Window layer whose weights stay: the unit that fires for each event, and where its output goes. Follows card.cu and halves.cu.
//
// What a surface holds depends on earlier input events alone. So a block of threads takes a recording, or a part of it, TILE events at a time:
//   1. build     their surfaces as the time map was before the tile, all at once, into shared memory, in half precision;
//   2. correct   entries that events of the tile itself set: event j is the last at its entry until `until[j]`, so each entry has one writer;
//   3. multiply  products with all centroids on the tensor cores, in half precision: ts c - |c|^2 / 2 is largest for the closest unit. A lane keeps the
//                best of its units and the second best;
//   4. decide    where the best is ahead of all others by more than rounding may have cost, it is the closest unit. Else
//   5. settle    the surface of such an event again, in float32, and its squared distances to those units that may be the closest.
//                Where there are thresholds, that is done for every event, because its distance is needed.
// Column 2 q of a surface is its entry q, column 2 q + 1 entry q + PAIRS: a lane builds both, and they are written as one word.
//
// Further constants of winners.py: struct Given, Time (float where times are exact in it, else int), TILE, WARPS, ALONG, NEAR, MEASURED, BESIDE, and of the map MAP, MAP_STRIDE, OWN

constexpr Shape LAYER = SHAPE[0];
constexpr int ENTRIES = LAYER.entries, UNITS = LAYER.units, POLARITIES = LAYER.polarities, DIMENSIONS = LAYER.dimensions;
constexpr int STEPS = (ENTRIES + 15) / 16, COLUMNS = 16 * STEPS, PAIRS = COLUMNS / 2, LOADS = (PAIRS + 31) / 32;
constexpr int STRIDE = COLUMNS + 8;                 // of surfaces, in halves: an odd number of 16 bytes, so that no two rows ask the same bank
constexpr int THREADS = 32 * WARPS;
constexpr int GROUPS = (UNITS + 31) / 32;           // of 32 units; ALONG warps share them, the others take other events
constexpr int SLOTS = 4 * ALONG, EACH = (GROUPS + ALONG - 1) / ALONG;   // lanes that share an event's units; groups of each
constexpr int MT = TILE / 16 / (WARPS / ALONG), NT = 4;   // pieces of 16 events and of 8 units that a warp multiplies at a time
constexpr Time NEVER = (Time)-(SHORT ? 1e30 : 1 << 30);   // a time; where times are float, so long ago that nothing is left of it
constexpr float FAR = 3e38f;
constexpr float ROUNDING = 1.125f / 1024;           // of a sum of products of two half-precision numbers each, relative to the sum of their sizes

struct Tile {                                       // in shared memory
  unsigned surface[TILE * STRIDE / 2];
  float2 found[TILE][SLOTS];                        // of every lane that has units of an event: the best, the second best
  float2 exact[WARPS][PAIRS];                       // a surface in float32
  int x[DIMENSIONS][TILE], p[TILE], corner[TILE], own[TILE], until[TILE];
  Time t[TILE];
  int taken;
  Time map[NEAR ? MAP : 4];
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
__device__ __forceinline__ int bits_of(float t) { return __float_as_int(t); }
__device__ __forceinline__ int bits_of(int t) { return t; }
__device__ __forceinline__ void replay(Time* map, const int* entries, const int* times, int before) {
  for (int i = threadIdx.x; i < MAP; i += THREADS) map[i] = NEVER;
  __syncthreads();
  for (int i = threadIdx.x; i < before; i += THREADS) {
    const Event event = event_of(entries[i]);
    atomicMax((int*)map + event.corner + OWN + event.p, bits_of((Time)(int)((unsigned)times[i] - (unsigned)times[0])));
  }
}

// ---------------------------------------------------------------------- surfaces

__device__ __forceinline__ float value_of(float then, float now, float fade) { return ex2((then - now) * fade); }
__device__ __forceinline__ float value_of(int then, int now, float fade) { return then == NEVER ? 0.f : ex2((float)(then - now) * fade); }

__device__ __forceinline__ void build(Tile& tile, const Time* map, const int (&step)[2][LOADS], float fade) {
  const int lane = threadIdx.x & 31;
  #pragma unroll 2
  for (int i = threadIdx.x >> 5; i < TILE; i += WARPS) {
    const Time *from = map + tile.corner[i], now = tile.t[i];
    Time then[2][LOADS];
    #pragma unroll
    for (int l = 0; l < LOADS; l++) { then[0][l] = from[step[0][l]]; then[1][l] = from[step[1][l]]; }
    #pragma unroll
    for (int l = 0; l < LOADS; l++) {
      const int q = lane + 32 * l;
      const float one = q < ENTRIES ? value_of(then[0][l], now, fade) : 0.f, two = q + PAIRS < ENTRIES ? value_of(then[1][l], now, fade) : 0.f;
      if (q < PAIRS) tile.surface[i * (STRIDE / 2) + q] = pack(one, two);
    }
  }
}

// Until which event of the tile each is the last at its entry: warps have 32 events each.
__device__ __forceinline__ void look_ahead(Tile& tile, int count) {
  const int lane = threadIdx.x & 31, first = threadIdx.x - lane;
  if (first >= TILE) return;
  const int i = first + lane, mine = i < count ? tile.own[i] : -1 - i;
  const unsigned later = __match_any_sync(ALL, mine) & ~(ALL >> (31 - lane));
  int found = later ? first + __ffs(later) - 1 : TILE;
  for (int from = first + 32; from < TILE; from += 32) {
    const int other = from + lane < count ? tile.own[from + lane] : -1;
    for (int l = 31; l >= 0; l--) if (__shfl_sync(ALL, other, l) == mine && found >= from) found = from + l;
  }
  if (i < TILE) tile.until[i] = found;
}

// Where event j lies in the window of event i, as an entry of its surface; -1: not in it, or a later event is there.
__device__ __forceinline__ int entry_in(const Tile& tile, const int (&x)[DIMENSIONS], int i, int j) {
  constexpr Shape shape = LAYER;
  bool within = j <= i && i < tile.until[j];
  int at = 0;
  #pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) {
    const int away = tile.x[d][j] - x[d];
    within = within && (unsigned)away < (unsigned)shape.side[d];
    at = at * shape.side[d] + away;
  }
  return within ? at * POLARITIES + tile.p[j] : -1;
}
__device__ __forceinline__ int column_of(int entry) { return entry < PAIRS ? 2 * entry : 2 * (entry - PAIRS) + 1; }

// From where the window of an event begins.
__device__ __forceinline__ void begin_of(const Tile& tile, int i, int (&x)[DIMENSIONS]) {
  constexpr Shape shape = LAYER;
  #pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) x[d] = tile.x[d][i] - shape.pad[d];
}

// What events of the tile set in surfaces of it, their own among them. A lane has an event, and looks at those of this warp that come after it.
__device__ __forceinline__ void correct(Tile& tile, int count, float fade) {
  constexpr Shape shape = LAYER;
  constexpr int SHARE = TILE / WARPS;               // events of a warp
  const int lane = threadIdx.x & 31, begin = (threadIdx.x >> 5) * SHARE, end = min(begin + SHARE, count);
  for (int first = 0; first < end; first += 32) {
    const int j = first + lane, last = j < count ? tile.until[j] : 0;
    int at[DIMENSIONS];
    #pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) at[d] = j < TILE ? tile.x[d][j] + shape.pad[d] : 0;
    const Time t = j < TILE ? tile.t[j] : 0;
    const int p = j < TILE ? tile.p[j] : 0;
    #pragma unroll 4
    for (int i = begin; i < end; i++) {
      bool within = j <= i && i < last;
      int entry = 0;
      #pragma unroll
      for (int d = 0; d < DIMENSIONS; d++) {
        const int away = at[d] - tile.x[d][i];
        within = within && (unsigned)away < (unsigned)shape.side[d];
        entry = entry * shape.side[d] + away;
      }
      if (within) ((unsigned short*)tile.surface)[i * STRIDE + column_of(entry * POLARITIES + p)] = (unsigned short)pack(ex2((float)(t - tile.t[i]) * fade), 0.f);
    }
  }
}

// ---------------------------------------------------------------------- the closest unit

// A sum with the number of its unit among those of the lane in its last five bits: `kept` has ones where the sum stays, and in bits 3 and 4 the
// group, inverted; `number` has 0 to 7 and bits 3 and 4.
__device__ __forceinline__ float numbered(float sum, unsigned kept, unsigned number) {
  return __uint_as_float((__float_as_uint(sum) & kept & ~number) | (number & ~kept));   // one instruction
}

template <int nt, int h>
__device__ __forceinline__ void keep_best(const float (&sum)[MT][NT][4], unsigned kept, float (&best)[2 * MT], float (&second)[2 * MT]) {
  #pragma unroll
  for (int r = 0; r < 2 * MT; r++) {
    const float s = numbered(sum[r >> 1][nt][2 * (r & 1) + h], kept, 0x18 | (2 * nt + h));
    second[r] = fmaxf(second[r], fminf(best[r], s)); best[r] = fmaxf(best[r], s);
  }
}

// Of every event, among the groups of units of this warp: c ts - |c|^2 / 2. A lane has rows lane / 4 + 8 r.
__device__ __forceinline__ void multiply(Tile& tile, const Given& given) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, along = warp % ALONG, row = warp / ALONG * MT * 16;
  const unsigned at = (unsigned)__cvta_generic_to_shared(tile.surface) + ((row + (lane & 15)) * STRIDE + (lane >> 4) * 8) * 2;
  float best[2 * MT], second[2 * MT];
  #pragma unroll
  for (int r = 0; r < 2 * MT; r++) best[r] = second[r] = -FAR;
  #pragma unroll 1
  for (int each = 0; each < EACH; each++) {
    const int group = along + each * ALONG;
    if (group >= GROUPS) break;
    float sum[MT][NT][4];
    #pragma unroll
    for (int nt = 0; nt < NT; nt++) {
      const float2 length = __ldg((const float2*)(given.lengths + group * 32 + nt * 8 + 2 * (lane & 3)));
      #pragma unroll
      for (int mt = 0; mt < MT; mt++) { sum[mt][nt][0] = sum[mt][nt][2] = length.x; sum[mt][nt][1] = sum[mt][nt][3] = length.y; }
    }
    const uint4* b = given.centroids + (long long)group * STEPS * (NT / 2) * 32 + lane;
    uint4 now[NT / 2], ahead[NT / 2];
    #pragma unroll
    for (int n = 0; n < NT / 2; n++) now[n] = __ldg(b + n * 32);
    #pragma unroll 2
    for (int step = 0; step < STEPS; step++) {
      const uint4* following = b + (step + 1 < STEPS ? step + 1 : step) * (NT / 2) * 32;
      #pragma unroll
      for (int n = 0; n < NT / 2; n++) ahead[n] = __ldg(following + n * 32);
      unsigned ts[2][4];                            // of two pieces: one is fetched while the other is multiplied
      load_matrix(ts[0], at + step * 32);
      #pragma unroll
      for (int mt = 0; mt < MT; mt++) {
        if (mt + 1 < MT) load_matrix(ts[(mt + 1) % 2], at + ((mt + 1) * 16 * STRIDE + step * 16) * 2);
        #pragma unroll
        for (int n = 0; n < NT / 2; n++) { product(sum[mt][2 * n], ts[mt % 2], now[n].x, now[n].y); product(sum[mt][2 * n + 1], ts[mt % 2], now[n].z, now[n].w); }
      }
      #pragma unroll
      for (int n = 0; n < NT / 2; n++) now[n] = ahead[n];
    }
    const unsigned kept = ~31u | ((unsigned)(3 - each) << 3);
    keep_best<0, 0>(sum, kept, best, second); keep_best<0, 1>(sum, kept, best, second);
    keep_best<1, 0>(sum, kept, best, second); keep_best<1, 1>(sum, kept, best, second);
    keep_best<2, 0>(sum, kept, best, second); keep_best<2, 1>(sum, kept, best, second);
    keep_best<3, 0>(sum, kept, best, second); keep_best<3, 1>(sum, kept, best, second);
  }
  #pragma unroll
  for (int r = 0; r < 2 * MT; r++) tile.found[row + 8 * r + (lane >> 2)][along * 4 + (lane & 3)] = make_float2(best[r], second[r]);
}

// The unit of a slot that has this number.
__device__ __forceinline__ int unit_of(int slot, int number) { return ((number >> 3) * ALONG + (slot >> 2)) * 32 + ((number >> 1) & 3) * 8 + 2 * (slot & 3) + (number & 1); }

struct Closest { float square; int unit; };

__device__ __forceinline__ void keep_closer(const Tile& tile, const Given& given, int f, Closest& so_far) {
  const int lane = threadIdx.x & 31;
  const float2* exact = tile.exact[threadIdx.x >> 5];
  float square = 0.f;
  #pragma unroll
  for (int l = 0; l < LOADS; l++) {
    const int q = lane + 32 * l;
    if (q < PAIRS) {
      const float2 c = __ldg((const float2*)(given.rows + (long long)f * COLUMNS) + q), ts = exact[q];
      const float one = ts.x - c.x, two = ts.y - c.y;
      square = fmaf(one, one, fmaf(two, two, square));
    }
  }
  #pragma unroll
  for (int s = 16; s; s >>= 1) square += __shfl_xor_sync(ALL, square, s);
  if (square < so_far.square || (square == so_far.square && f < so_far.unit)) so_far = {square, f};
}

// The surface of an event in float32, by the whole warp.
__device__ __forceinline__ void build_exact(Tile& tile, const Time* map, const int (&step)[2][LOADS], int i, float fade) {
  const int lane = threadIdx.x & 31;
  const Time now = tile.t[i];
  float2* exact = tile.exact[threadIdx.x >> 5];
  __syncwarp();
  #pragma unroll
  for (int l = 0; l < LOADS; l++) {
    const int q = lane + 32 * l;
    const float one = q < ENTRIES ? value_of(map[tile.corner[i] + step[0][l]], now, fade) : 0.f;
    const float two = q + PAIRS < ENTRIES ? value_of(map[tile.corner[i] + step[1][l]], now, fade) : 0.f;
    if (q < PAIRS) exact[q] = make_float2(one, two);
  }
  __syncwarp();
  int x[DIMENSIONS];
  begin_of(tile, i, x);
  for (int j = lane; j <= i; j += 32) {
    const int at = entry_in(tile, x, i, j);
    if (at >= 0) ((float*)exact)[column_of(at)] = ex2((float)(tile.t[j] - now) * fade);
  }
  __syncwarp();
}

// The closest unit of an event among those that rounding may have put behind the best; -1: it is further than its threshold.
__device__ __forceinline__ int settle(Tile& tile, const Time* map, const Given& given, const int (&step)[2][LOADS], int i, float least) {
  const int lane = threadIdx.x & 31;
  build_exact(tile, map, step, i, given.fade);
  const float2 mine = lane < SLOTS ? tile.found[i][lane] : make_float2(-FAR, -FAR);
  const unsigned several = __ballot_sync(ALL, mine.y >= least);
  Closest closest = {FAR, 0};
  for (unsigned some = __ballot_sync(ALL, mine.x >= least); some; some &= some - 1) {
    const int slot = __ffs(some) - 1;
    if (several >> slot & 1) {
      for (int number = 0; number < 8 * EACH; number++) { const int f = unit_of(slot, number); if (f < UNITS) keep_closer(tile, given, f, closest); }
    } else keep_closer(tile, given, unit_of(slot, __float_as_uint(__shfl_sync(ALL, mine.x, slot)) & 31), closest);
  }
  return MEASURED && !(sqrtf(closest.square) < given.thresholds[closest.unit]) ? -1 : closest.unit;
}

// The unit of each event of the tile, which thread i has for event i; each warp looks at 32 of them, or at fewer where there are more warps.
__device__ __forceinline__ void decide(Tile& tile, const Time* map, const Given& given, const int (&step)[2][LOADS], int count) {
  constexpr int SHARE = TILE / WARPS;               // events of a warp
  const int lane = threadIdx.x & 31, i = (threadIdx.x >> 5) * SHARE + lane;
  float best = -FAR; int slot = 0;
  bool doubt = false;
  float least = 0.f;
  if (lane < SHARE && i < count) {
    #pragma unroll 4
    for (int s = 0; s < SLOTS; s++) { const float v = tile.found[i][s].x; if (v > best) { best = v; slot = s; } }
    least = best - fmaf(2.f * ROUNDING, best, given.slack);
    doubt = MEASURED;
    #pragma unroll 4
    for (int s = 0; s < SLOTS; s++) { const float2 v = tile.found[i][s]; doubt = doubt || v.y >= least || (s != slot && v.x >= least); }
  }
  int f = unit_of(slot, __float_as_uint(best) & 31);
  for (unsigned some = __ballot_sync(ALL, doubt); some; some &= some - 1) {
    const int l = __ffs(some) - 1, settled = settle(tile, map, given, step, i - lane + l, __shfl_sync(ALL, least, l));
    if (lane == l) f = settled;
  }
  __syncwarp();
  if (lane < SHARE && i < count) ((int*)tile.found[i])[0] = f;
}

// ---------------------------------------------------------------------- a part of a recording

__device__ __forceinline__ void run(Tile& tile, Time* map, const Given& given, const int (&step)[2][LOADS], int q, int part) {
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
      tile.p[at] = event.p; tile.t[at] = (Time)(int)((unsigned)time - began);
      tile.corner[at] = event.corner; tile.own[at] = event.corner + OWN + event.p;
      const int i = min(base + TILE + at, end - 1);  // fetched for the next tile
      entry = entries[i]; time = times[i];
    }
    __syncthreads();
    look_ahead(tile, count);
    build(tile, map, step, given.fade);
    __syncthreads();
    correct(tile, count, given.fade);
    __syncthreads();
    multiply(tile, given);
    __syncthreads();
    decide(tile, map, given, step, count);
    __syncthreads();
    if (mine && at < count) {
      if (tile.until[at] >= count) map[tile.own[at]] = tile.t[at];   // as the tile leaves it
      const int f = ((const int*)tile.found[at])[0];
      given.out[to + base + at] = f < 0 ? -1 : output_place<0>(event.place) * UNITS + f;
      given.out_t[to + base + at] = own_time;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BESIDE) winners(const __grid_constant__ Given given) {
  extern __shared__ uint4 memory[];
  Tile& tile = *(Tile*)memory;
  Time* map = NEAR ? tile.map : (Time*)given.scratch + (long long)blockIdx.x * MAP;
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
