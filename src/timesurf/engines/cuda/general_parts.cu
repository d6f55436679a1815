// Parts of the general path: what a warp knows, and where events lie. Follows card.cu and step.cu.
// Further constants of general.py: LANES, WIDE, WRITTEN, NEAR, SUMS, SCRATCH, PREVIOUS_AT, TRACED, TRACED_PREVIOUS_AT,
// and whether any network learns BY_DELTA, and EVIDENCE is asked for: code for these is left out where it is not needed

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

struct Log { float4* line; int* unit; float* gain; };

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
