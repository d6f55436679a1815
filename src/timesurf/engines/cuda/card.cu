// What all paths share: a network on the card, what a kernel is given, and the update at the end of a batch.
//
// engines/cuda/general.py writes constants in front of this file: LAYERS, MAX_DIMENSIONS, DETERMINISTIC and SHAPE of each layer.
// Many networks of one shape may run side by side on the same events: blockIdx tells which, and arrays hold one after another.

#define ALL 0xffffffffu
constexpr float SLACK = 1e-6f;      // as in timesurf.rule
constexpr float NEWS = 0.2f;        // weight of the latest batch in the share of events that is kept now, as in timesurf.learning.trainer
enum { COMPETITION = 1, CENTRE = 2 };

#if DETERMINISTIC                   // sums in fixed point: the same bits in any order
typedef unsigned long long Sum;
__device__ __forceinline__ Sum exact(float value) { return (Sum)(long long)llrint((double)value * 0x1p40); }
__device__ __forceinline__ double total(Sum sum) { return (double)(long long)sum * 0x1p-40; }
#else
typedef float Sum;
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

struct Rates {                      // of one layer in one batch
  float fade, feedback;             // log2(e) / tau
  float alpha, beta, gamma, delta;
  float d;                          // log2(e) / d
  int flags;
};

struct Layer {                      // of all networks, one after another; rows of a centroid array are padded to SHAPE.row units
  double *c64, *th64;               // centroids, [entry of the surface][unit], and thresholds, as they are kept
  float *c, *th, *cc;               // as the kernels read them; and squared lengths of centroids
  Sum *dc, *dg, *dth;               // sums of gain x surface, of gain, of threshold steps
  const bool* frozen;
  const int* step;                  // where each entry of a surface lies on the map, from its corner
};

struct Args {
  const int *entry, *t;             // events of all recordings
  const long long *start, *stop;    // [network][recording]
  const int* label;
  const int* bounds;                // batch b is recordings bounds[b] to bounds[b + 1]
  const float* events;              // [batch][network]
  const Rates* rates;               // [batch][network][layer]
  int* batch;                       // the batch it is at
  int* next;                        // [network] recordings of it that are taken
  int networks, recordings;         // recordings of each network
  int *kept, *votes;                // [network][recording][layer], [..][unit]
  int* output;                      // [network] output events of the batch
  float* share; float keep;         // [network] share of events that are output, of late; thresholds compete while it is above `keep`
  // of the general path
  int* scratch;                     // [slot][SCRATCH]: maps
  float4* log; int* log_unit;       // [slot][wide layer][event]: entry, w, gain, time; and the unit that fired
  long long log_stride;
  int *winner, *passed; float *distance, *S;   // trace: [event][layer]
  const long long* trace_at;        // where the trace of each recording begins
  float* surfaces; const long long* row; int surface_layer;
  // of the path by blocks
  int *map, *base;                  // [slot][entry]: last times in the last layer; [slot]: when the recording began, on that clock
  float2* gain; unsigned* fired;    // [slot][event]: gain and w; entry and class
  // of the path layer by layer; [layer][slot][event], a slot is a recording of the chunk
  int chunk, segment;               // recordings of a chunk, events of a segment
  int2* list; int* listed;          // [layer above]: events that reach it, {which, entry}; [..][segment]: how many
  unsigned short* lines;            // surface and nearness to thresholds, in half precision
  float2* judged; float* apart;     // [layer above]: S and dS; [hidden layer above]: S but for its sign
  // of the update
  double* partial;                  // [network][layer][block][unit]: parts of squared lengths
  int* done;                        // [network][layer] blocks that are done, then layers that are
  Layer layer[LAYERS];
};

// The rates of a network in the batch that it is at.
__device__ __forceinline__ Rates rates_now(const Args& a, int network, int layer) {
  Rates rates = a.rates[((long long)*a.batch * a.networks + network) * LAYERS + layer];
  if (a.share[network] <= a.keep) rates.flags &= ~COMPETITION;
  return rates;
}

constexpr int UPDATE_BLOCKS = 256, UPDATE_THREADS = 256, AT_ONCE = 5, SHARERS = 16;

// Apply the sums of a batch: c += sum(g ts) - sum(g) c, th += steps, never below 0; frozen units stay. Then on to the next batch.
// blockIdx: (part of the entries, layer, network). Sums are made in a fixed order; the last block of a layer ends it.
template <int k>
__device__ __forceinline__ void update_layer(const Args& a, int network) {
  constexpr int entries = SHAPE[k].entries, row = SHAPE[k].row, units = SHAPE[k].units;
  constexpr int columns = row < UPDATE_THREADS ? row : UPDATE_THREADS, lines = UPDATE_THREADS / columns;
  constexpr int parts = (entries + lines - 1) / lines, blocks = parts < UPDATE_BLOCKS ? parts : UPDATE_BLOCKS;
  if (blockIdx.x >= blocks) return;
  const Layer& layer = a.layer[k];
  const long long at = (long long)network * entries * row, first = (long long)network * units;
  double* partial = a.partial + ((long long)network * LAYERS + k) * UPDATE_BLOCKS * MAX_ROW;
  int* done = a.done + network * LAYERS + k;
  __shared__ double squares[UPDATE_THREADS];
  __shared__ bool last;
  const int column = threadIdx.x % columns, line = threadIdx.x / columns;
  for (int base = 0; base < row; base += columns) {
    const int n = base + column;
    const bool mine = line < lines && n < units, learns = mine && !layer.frozen[first + n];
    const double g = mine ? total(layer.dg[first + n]) : 0.0;
    double length = 0;
    if (mine) for (int j0 = blockIdx.x * lines + line; j0 < entries; j0 += AT_ONCE * blocks * lines) {
      double v[AT_ONCE]; Sum sum[AT_ONCE];          // fetched together: what counts here is how long one waits for memory
      #pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const int j = j0 + u * blocks * lines;
        const long long i = at + (long long)j * row + n;
        v[u] = j < entries ? layer.c64[i] : 0.0; sum[u] = j < entries ? layer.dc[i] : (Sum)0;
      }
      #pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const int j = j0 + u * blocks * lines;
        const long long i = at + (long long)j * row + n;
        if (j >= entries) break;
        if (learns) { v[u] += total(sum[u]) - g * v[u]; layer.c64[i] = v[u]; layer.c[i] = (float)v[u]; }
        layer.dc[i] = 0;
        length += (double)(float)v[u] * (float)v[u];
      }
    }
    squares[threadIdx.x] = length;
    __syncthreads();
    if (line == 0 && n < units) {
      for (int l = 1; l < lines; l++) length += squares[l * columns + column];
      partial[(long long)blockIdx.x * MAX_ROW + n] = length;
    }
    __syncthreads();
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(done, 1) == blocks - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const int share = threadIdx.x % SHARERS, place = threadIdx.x / SHARERS;
  for (int n = place; n - place < units; n += UPDATE_THREADS / SHARERS) {   // one unit at a time is of that many threads
    double length = 0;
    if (n < units) {
      #pragma unroll UPDATE_BLOCKS / SHARERS
      for (int b = share; b < blocks; b += SHARERS) length += partial[(long long)b * MAX_ROW + n];
    }
    for (int s = SHARERS / 2; s; s >>= 1) length += __shfl_xor_sync(ALL, length, s);
    const long long i = first + n;
    if (share || n >= units) continue;
    layer.cc[i] = (float)length;
    if (!layer.frozen[i]) { layer.th64[i] = fmax(layer.th64[i] + total(layer.dth[i]), 0.0); layer.th[i] = (float)layer.th64[i]; }
    layer.dg[i] = 0; layer.dth[i] = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *done = 0;
    int* all = a.done + a.networks * LAYERS;
    if (atomicAdd(all, 1) == a.networks * LAYERS - 1) {
      for (int n = 0; n < a.networks; n++) {
        const float events = a.events[*a.batch * a.networks + n];
        if (events > 0.f) a.share[n] += NEWS * (a.output[n] / events - a.share[n]);
        a.next[n] = a.output[n] = 0;
      }
      *all = 0; *a.batch += 1;
    }
  }
}

template <int k>
__device__ __forceinline__ void update_which(const Args& a) {
  if constexpr (k < LAYERS) { if (blockIdx.y == k) update_layer<k>(a, blockIdx.z); else update_which<k + 1>(a); }
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) update(const __grid_constant__ Args a) { update_which<0>(a); }
