// Parts of the path by blocks of events: sizes, products on the tensor cores, chains from warp to warp, the time map.
//
// Follows card.cu, step.cu and warp.cu. Further constants of blocks.py: LEARN, GROUP, WARPS, MAP, MAP_STRIDE, OWN

constexpr Shape FIRST = SHAPE[0], LAST = SHAPE[1];
constexpr int ENTRIES = FIRST.entries, UNITS = FIRST.units, LAST_UNITS = LAST.units, ROW = LAST.row, POLARITIES = FIRST.polarities;
constexpr int COLUMNS = ENTRIES + LEARN;            // of a surface; when learning, a 1 follows, whose product sums the gains
constexpr int KS = (COLUMNS + 7) / 8;               // steps along a surface
constexpr bool HALF = (COLUMNS - 1) % 8 < 4;        // the last of them has 4 columns
constexpr int STRIDE = HALF ? 8 * KS - 4 : 8 * KS + 4;   // an odd number of fours, so that no two lanes ask the same bank
constexpr int NT = (UNITS + 7) / 8, MT = (UNITS + 15) / 16, LOADS = (ENTRIES + 31) / 32;
constexpr int DOT = 0, FEED = ROW, CLOCK = 2 * ROW, PREVIOUS = CLOCK + 1, TAKEN = CLOCK + 2, CONTROL = CLOCK + 4;   // places in `control`
constexpr int SURFACES = 32 * STRIDE, PER_WARP = MAP + SURFACES + 64 + CONTROL;   // words of shared memory
constexpr int COMMON = KS * NT * 32 * 16 + 4 * (3 * 8 * NT + ROW);                // bytes of it that all warps share
constexpr float NEVER = -1e30f;                     // a time
constexpr int UNROLLED_EVENTS = LEARN ? 1 : 8, UNROLLED_STEPS = LEARN ? 2 : KS;   // learning code is already as long as the instruction cache
constexpr int RESET = 1 << 30;                      // us: the clock of the last layer's map starts again
constexpr unsigned ENTRY_MASK = (1u << ENTRY_BITS) - 1;

// ---------------------------------------------------------------------- the tensor cores

__device__ __forceinline__ float load(unsigned at, int offset) { float v; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at + offset)); return v; }
__device__ __forceinline__ void store(unsigned at, int offset, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at + offset), "f"(v)); }
// A float's TF32 part: the tensor cores cut off the low bits themselves, so where only they look, half of the last bit is added first.
__device__ __forceinline__ unsigned high(unsigned v) { return v & 0xffffe000u; }
__device__ __forceinline__ unsigned half_up(unsigned v) { return v + 0x1000u; }
__device__ __forceinline__ unsigned rounded(unsigned v) { return high(half_up(v)); }
__device__ __forceinline__ unsigned low(unsigned v, unsigned top) { return __float_as_uint(__uint_as_float(v) - __uint_as_float(top)); }

__device__ __forceinline__ void product(float* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A 16 x 8 piece of the surfaces in shared memory, or its first half.
__device__ __forceinline__ void load_matrix(unsigned (&v)[4], unsigned at, bool half) {
  if (half) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
    v[2] = v[3] = 0u;
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
  }
}

// ---------------------------------------------------------------------- between warps

__device__ __forceinline__ int shared_by_block(const int* place) {   // as other warps of the block left it
  int v; asm volatile("ld.relaxed.cta.global.s32 %0, [%1];" : "=r"(v) : "l"(place) : "memory"); return v;
}

__device__ __forceinline__ void group_barrier(int group) {
  if (GROUP == 1) __syncwarp();
  else asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(GROUP * 32) : "memory");
}

// A chain hands values on from block to block. Each warp of a group has a barrier in it, at which the warp of the block before arrives
// once the values are there: the n-th time it is waited for, its phase is n, and only the phase's last bit is asked for.
enum { MAPS, DOTS, SIGNS, BACK, CHAINS };
typedef unsigned long long Barrier;

__device__ __forceinline__ void await(Barrier* barrier, int phase) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(barrier);
  int there = 0;
  while (!there)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                 : "=r"(there) : "r"(at), "r"(phase & 1) : "memory");
}
__device__ __forceinline__ void hand_on(Barrier* barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}

// ---------------------------------------------------------------------- a warp and its shared memory

struct Warp {
  int lane, warp, group, member, following;         // following: the warp of the next block of events
  unsigned upto, before;                            // lanes up to this one, and before it
  float4* parts;                                    // centroids as the tensor cores want them: two values, high then low parts
  float *th, *cc, *near;                            // of the units: threshold, squared length, offset of `nearness`
  float* cc_last;                                   // squared lengths of the last layer
  float* own;                                       // what the warps have, one after another:
  float *map, *ts;                                  //   time map and surfaces
  int2* line;                                       //   events of a block
  float* control;                                   // of the group: what goes from block to block
  Barrier (*barriers)[WARPS];
  int forward, backward;                            // blocks that this warp has waited to take over

  __device__ __forceinline__ Warp(float4* memory, Barrier (*chains)[WARPS]) {
    lane = threadIdx.x & 31; warp = threadIdx.x >> 5; group = warp / GROUP; member = warp % GROUP;
    following = group * GROUP + (member + 1) % GROUP;
    upto = ALL >> (31 - lane); before = upto >> 1;
    parts = memory;
    th = (float*)(parts + KS * NT * 32);
    cc = th + NT * 8;
    near = cc + NT * 8;
    cc_last = near + NT * 8;
    own = cc_last + ROW;
    map = own + warp * PER_WARP;
    ts = map + MAP;
    line = (int2*)(ts + SURFACES);
    control = own + group * GROUP * PER_WARP + MAP + SURFACES + 64;
    barriers = chains;
    forward = backward = 0;
  }
  // Wait for the block of events before this one; tell the warp of the one after it.
  __device__ __forceinline__ void take_over(int chain, int block) const { if (GROUP > 1 && block > 0) await(&barriers[chain][warp], forward); }
  __device__ __forceinline__ void pass_on(int chain, int block, int blocks) const {
    if (GROUP > 1 && block + 1 < blocks) hand_on(&barriers[chain][following]);
  }
};

// Values of all units of the last layer into shared memory.
__device__ __forceinline__ void keep(float* place, const float (&v)[ROW]) {
  #pragma unroll
  for (int i = 0; i < ROW; i += 4) *(float4*)(place + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
}

// ---------------------------------------------------------------------- recordings

struct Recording {
  long long out;                                    // its number among those of all networks
  int label, events, blocks, length;                // length: us
  const int *entries, *times;
  unsigned began;                                   // clocks may wrap: only differences count
  __device__ __forceinline__ Recording(const Args& a, int network, int q) {
    out = (long long)network * a.recordings + q;
    label = a.label[out];
    const long long first = a.start[out];
    events = (int)(a.stop[out] - first); blocks = (events + 31) >> 5;
    entries = a.entry + first; times = a.t + first;
    began = events ? times[0] : 0;
    length = events ? (int)((unsigned)times[events - 1] - began) + 1 : 0;
  }
};

struct Ahead { int entry[GROUP], t[GROUP]; };       // events of the blocks from one of this warp to its next, fetched early

// Where on the map the neighbourhood of an event begins, in words.
__device__ __forceinline__ int corner(int entry) {
  constexpr Shape shape = SHAPE[0];
  constexpr int stride[] = MAP_STRIDE;
  int rest = entry / POLARITIES, at = 0;
  #pragma unroll
  for (int d = FIRST.dimensions - 1; d >= 0; d--) { at += rest % shape.field[d] * stride[d]; rest /= shape.field[d]; }
  return at;
}

struct Builder {                                    // where a lane reads and writes when surfaces are built
  unsigned map_at, ts_at;                           // in shared memory
  unsigned step[LOADS];                             // bytes from the corner to the entries that this lane loads
  __device__ __forceinline__ Builder(const Warp& warp) {
    map_at = (unsigned)__cvta_generic_to_shared(warp.map); ts_at = (unsigned)__cvta_generic_to_shared(warp.ts) + warp.lane * 4;
    constexpr Shape shape = SHAPE[0];
    constexpr int stride[] = MAP_STRIDE;
    #pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int rest = warp.lane + 32 * i < ENTRIES ? warp.lane + 32 * i : 0;
      step[i] = rest % POLARITIES * 4; rest /= POLARITIES;
      #pragma unroll
      for (int d = FIRST.dimensions - 1; d >= 0; d--) { step[i] += rest % shape.side[d] * stride[d] * 4; rest /= shape.side[d]; }
    }
  }
};
