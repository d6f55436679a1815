// What all paths share: sums, decays, places, and the update at the end of a batch.
//
// abi.py writes constants and structs in front of this file: LAYERS, DETERMINISTIC, Args, Layer, Rates, and SHAPE of each layer.
// Many networks of one shape may run side by side on the same events: blockIdx says which, and arrays hold one after another.

#define ALL 0xffffffffu

#if DETERMINISTIC                   // sums in fixed point: the same bits in any order
__device__ __forceinline__ Sum exact(float value) { return (Sum)(long long)llrint((double)value * FIXED); }
__device__ __forceinline__ double total(Sum sum) { return (double)(long long)sum * (1. / FIXED); }
#else
__device__ __forceinline__ Sum exact(float value) { return value; }
__device__ __forceinline__ double total(Sum sum) { return sum; }
#endif
__device__ __forceinline__ void add(Sum* sum, float value) { atomicAdd(sum, exact(value)); }
__device__ __forceinline__ void add_four(Sum* sum, const float* v) {
#if !DETERMINISTIC && __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(sum), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
#else
  for (int i = 0; i < 4; i++) if (v[i] != 0.f) add(sum + i, v[i]);
#endif
}
__device__ __forceinline__ void fetch(const void* place) { asm volatile("prefetch.global.L1 [%0];" ::"l"(place)); }
__device__ __forceinline__ float ex2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float root(float x) { float y; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// The rates of a network in the current batch.
__device__ __forceinline__ Rates rates_now(const Args& a, int network, int layer) {
  Rates rates = a.rates[((long long)*a.batch * a.networks + network) * LAYERS + layer];
  if (a.share[network] <= a.keep) rates.flags &= ~COMPETITION;
  return rates;
}

// x becomes the place of a layer's output; returned as one number.
template <int k>
__device__ __forceinline__ int onward(int* x) {
  constexpr Shape shape = SHAPE[k];
  int place = 0;
  #pragma unroll
  for (int d = 0; d < shape.out_dimensions; d++) { x[d] /= shape.out_stride[d]; place = place * shape.out[d] + x[d]; }
  return place;
}

template <int k>
constexpr __host__ __device__ bool keeps_places() {
  for (int d = 0; d < SHAPE[k].dimensions; d++) if (SHAPE[k].out_stride[d] != 1) return false;
  return SHAPE[k].out_dimensions == SHAPE[k].dimensions;
}

// The same for a place that is one number.
template <int k>
__device__ __forceinline__ int output_place(int place) {
  if constexpr (keeps_places<k>()) return place;
  else {
    constexpr Shape shape = SHAPE[k];
    int x[MAX_DIMENSIONS];
    #pragma unroll
    for (int d = shape.dimensions - 1; d >= 0; d--) { x[d] = place % shape.field[d]; place /= shape.field[d]; }
    return onward<k>(x);
  }
}

constexpr int AT_ONCE = 5, SHARERS = 16;   // entries that a thread fetches together; threads that share a unit's squared length

template <int k> struct Updated {          // how a layer's centroids are split over blocks of threads
  static constexpr int entries = SHAPE[k].entries, row = SHAPE[k].row, units = SHAPE[k].units;
  static constexpr int columns = row < UPDATE_THREADS ? row : UPDATE_THREADS, lines = UPDATE_THREADS / columns;
  static constexpr int parts = (entries + lines - 1) / lines, blocks = parts < UPDATE_BLOCKS ? parts : UPDATE_BLOCKS;
};

// Centroids of one block's entries: c += sum(g ts) - sum(g) c. Their squares go to `partial`, summed in a fixed order.
template <int k>
__device__ __forceinline__ void update_centroids(const Args& a, long long at, long long first, double* partial) {
  using Z = Updated<k>;
  const Layer& layer = a.layer[k];
  __shared__ double squares[UPDATE_THREADS];
  const int column = threadIdx.x % Z::columns, line = threadIdx.x / Z::columns;
  for (int base = 0; base < Z::row; base += Z::columns) {
    const int n = base + column;
    const bool mine = line < Z::lines && n < Z::units, learns = mine && !layer.frozen[first + n];
    const double g = mine ? total(layer.dg[first + n]) : 0.0;
    double length = 0;
    if (mine) for (int j0 = blockIdx.x * Z::lines + line; j0 < Z::entries; j0 += AT_ONCE * Z::blocks * Z::lines) {
      double v[AT_ONCE]; Sum sum[AT_ONCE];   // fetched together, because waiting for memory takes most of the time here
      #pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const int j = j0 + u * Z::blocks * Z::lines;
        const long long i = at + (long long)j * Z::row + n;
        v[u] = j < Z::entries ? layer.c64[i] : 0.0; sum[u] = j < Z::entries ? layer.dc[i] : (Sum)0;
      }
      #pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const int j = j0 + u * Z::blocks * Z::lines;
        const long long i = at + (long long)j * Z::row + n;
        if (j >= Z::entries) break;
        if (learns) { v[u] += total(sum[u]) - g * v[u]; layer.c64[i] = v[u]; layer.c[i] = (float)v[u]; }
        layer.dc[i] = 0;
        length += (double)(float)v[u] * (float)v[u];
      }
    }
    squares[threadIdx.x] = length;
    __syncthreads();
    if (line == 0 && n < Z::units) {
      for (int l = 1; l < Z::lines; l++) length += squares[l * Z::columns + column];
      partial[(long long)blockIdx.x * MAX_ROW + n] = length;
    }
    __syncthreads();
  }
}

// Whether this is the last block of the layer, which sees what all others wrote.
template <int k>
__device__ __forceinline__ bool last_block(int* done) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(done, 1) == Updated<k>::blocks - 1;
  __syncthreads();
  if (!last) return false;
  __threadfence();
  return true;
}

// Squared lengths of centroids, and thresholds: th += steps, never below 0.
template <int k>
__device__ __forceinline__ void update_units(const Args& a, long long first, const double* partial) {
  using Z = Updated<k>;
  const Layer& layer = a.layer[k];
  const int share = threadIdx.x % SHARERS, place = threadIdx.x / SHARERS;
  for (int n = place; n - place < Z::units; n += UPDATE_THREADS / SHARERS) {
    double length = 0;
    if (n < Z::units) {
      #pragma unroll UPDATE_BLOCKS / SHARERS
      for (int b = share; b < Z::blocks; b += SHARERS) length += partial[(long long)b * MAX_ROW + n];
    }
    for (int s = SHARERS / 2; s; s >>= 1) length += __shfl_xor_sync(ALL, length, s);
    const long long i = first + n;
    if (share || n >= Z::units) continue;
    layer.cc[i] = (float)length;
    if (!layer.frozen[i]) { layer.th64[i] = fmax(layer.th64[i] + total(layer.dth[i]), 0.0); layer.th[i] = (float)layer.th64[i]; }
    layer.dg[i] = 0; layer.dth[i] = 0;
  }
}

// Once all layers of all networks are done: the running share of events kept, and on to the next batch.
__device__ __forceinline__ void next_batch(const Args& a) {
  int* all = a.done + a.networks * LAYERS;
  if (atomicAdd(all, 1) != a.networks * LAYERS - 1) return;
  for (int n = 0; n < a.networks; n++) {
    const float events = a.events[*a.batch * a.networks + n];
    if (events > 0.f) a.share[n] += KEPT_WEIGHT * (a.output[n] / events - a.share[n]);
    a.next[n] = a.output[n] = 0;
  }
  *all = 0; *a.batch += 1;
}

// Apply the sums of a batch to one layer; frozen units stay.
template <int k>
__device__ __forceinline__ void update_layer(const Args& a, int network) {
  if (blockIdx.x >= Updated<k>::blocks) return;
  const long long at = (long long)network * Updated<k>::entries * Updated<k>::row, first = (long long)network * Updated<k>::units;
  double* partial = a.partial + ((long long)network * LAYERS + k) * UPDATE_BLOCKS * MAX_ROW;
  int* done = a.done + network * LAYERS + k;
  update_centroids<k>(a, at, first, partial);
  if (!last_block<k>(done)) return;
  update_units<k>(a, first, partial);
  __syncthreads();
  if (threadIdx.x == 0) { *done = 0; next_batch(a); }
}

template <int k>
__device__ __forceinline__ void update_which(const Args& a) {
  if constexpr (k < LAYERS) { if (blockIdx.y == k) update_layer<k>(a, blockIdx.z); else update_which<k + 1>(a); }
}

// blockIdx: (part of the entries, layer, network)
extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) update(const __grid_constant__ Args a) { update_which<0>(a); }
