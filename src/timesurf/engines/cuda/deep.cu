// The path layer by layer, for networks of Window layers below one Full layer, weights that stay for the whole batch.
//
// With weights that stay, what a Window layer decides never changes its own time map: only which of its outputs are there does, for the
// layer above. So each layer is a kernel of its own, over all events of a chunk of recordings, and lists what it lets pass:
//   layer  a Window layer (deep_layer.cu). A warp takes a segment of a recording, 32 events at a time: their surfaces times all centroids on
//          the tensor cores, each factor in two half-precision parts, three products. What came before the segment is only written into the map.
//   last   the Full layer (deep_last.cu). A warp takes a recording, 32 events at a time, as a scan over the lanes: dot_n = dot_n fade + w c_n[e],
//          w = 1 - v_old; S and dS of every layer; and backwards the sums of this layer, dC[n, e] += w_k R_n(k), as in general.cu.
//   learn  sums of a Window layer (deep_learn.cu). Its surfaces, and how near each distance is to its threshold, were written out by `layer`;
//          threads own columns of the sums, and take event after event.
//
// This file: sizes, places, and how the work is cut. Follows card.cu, step.cu, warp.cu and halves.cu.
// Further constants of deep.py: LEARN, MAP, MAP_STRIDE, OWN, LAST_MAP; it writes the kernels at the end.

constexpr int TOP = LAYERS - 1;
constexpr Shape LAST = SHAPE[TOP];
constexpr int LAST_UNITS = LAST.units, ROW = LAST.row;
constexpr float NEVER = -1e30f;                     // a time
constexpr int RESET = 1 << 30;                      // us: the clock of the last layer's map starts again
constexpr unsigned ENTRY_MASK = (1u << ENTRY_BITS) - 1;

constexpr __host__ __device__ int places_of(Shape shape) {   // of the padded field
  int n = 1;
  for (int d = 0; d < shape.dimensions; d++) n *= shape.field[d] + shape.side[d] - 1;
  return n;
}
constexpr __host__ __device__ int output_places(Shape shape) {
  int n = 1;
  for (int d = 0; d < shape.out_dimensions; d++) n *= shape.out[d];
  return n;
}

template <int k> struct Of {                        // sizes of a Window layer
  static constexpr int units = SHAPE[k].units, polarities = SHAPE[k].polarities, entries = SHAPE[k].entries, places = entries / polarities;
  static constexpr int words = (polarities + 31) / 32 * 32;          // a place on the map of an upper layer: whole steps of 32
  static constexpr int steps = k ? places * words / 32 : (entries + 31) / 32, columns = 32 * steps;
  static constexpr int nt = (units + 7) / 8, line = columns + 8 * nt;   // halves that `layer` writes out for `learn`: surface, then nearness
  static constexpr int stride = columns + 16;       // of times in shared memory: no two lanes ask the same bank
  static constexpr int field = k ? places_of(SHAPE[k]) : 0;
  static constexpr int rows = field + 33;           // of its map: places; a place as it is after each event of a block; one where nothing fired
  static constexpr int map = k ? rows * words : 0;  // words of its map, where that is not in shared memory
  static constexpr int own = k ? (field + 3) / 4 * 4 + places * 32 + 128 : MAP + 32 * stride + 64;   // words of shared memory per warp
  static constexpr int common = 4 * columns * 8 * nt + 12 * 8 * nt;   // bytes of it that all warps share
};
template <int k> constexpr __host__ __device__ int lines_below() { if constexpr (k == 0) return 0; else return lines_below<k - 1>() + Of<k - 1>::line; }

// The entry of a centroid that a column stands for; -1 where it only fills up.
template <int k>
__device__ __forceinline__ int entry_of(int column) {
  using Z = Of<k>;
  if (k == 0) return column < Z::entries ? column : -1;
  return column % Z::words < Z::polarities ? column / Z::words * Z::polarities + column % Z::words : -1;
}

// Where the neighbourhood of a place begins: on the first layer's map in words, on others in places.
template <int k>
__device__ __forceinline__ int corner(int place) {
  constexpr Shape shape = SHAPE[k];
  constexpr int near_stride[] = MAP_STRIDE;
  int at = 0;
  #pragma unroll
  for (int d = shape.dimensions - 1; d >= 0; d--) {
    at += place % shape.field[d] * (k ? shape.stride[d] / shape.polarities : near_stride[d]);
    place /= shape.field[d];
  }
  return at;
}

// From there to an entry of the neighbourhood, or with n = 0 .. places - 1 to a place of it.
template <int k>
__device__ __forceinline__ int inside(int n) {
  constexpr Shape shape = SHAPE[k];
  constexpr int near_stride[] = MAP_STRIDE;
  int at = k ? 0 : n % shape.polarities;
  if (k == 0) n /= shape.polarities;
  #pragma unroll
  for (int d = shape.dimensions - 1; d >= 0; d--) {
    at += n % shape.side[d] * (k ? shape.stride[d] / shape.polarities : near_stride[d]);
    n /= shape.side[d];
  }
  return at;
}

// In lines that are written out, what a lane has of a step, and of all distances, lies together.
__device__ __forceinline__ int column_of(int written) { const int i = written & 31; return written - i + (i & 4) * 4 + (i >> 3) * 4 + (i & 3); }
template <int k>
__device__ __forceinline__ int unit_of(int written) { constexpr int own = 2 * Of<k>::nt; return written % own / 2 * 8 + written / own * 2 + written % 2; }

// What a kernel works on: a chunk of the recordings of the batch, cut into segments.
struct Work {
  int network, from, to, segments;
  long long plane;                                  // events that arrays of a layer have room for
  __device__ __forceinline__ Work(const Args& a, int chunk) {
    network = blockIdx.y;
    const int batch = *a.batch;
    from = a.bounds[batch] + chunk * a.chunk; to = min(from + a.chunk, a.bounds[batch + 1]);
    segments = (int)((a.log_stride + a.segment - 1) / a.segment);
    plane = (long long)a.networks * a.chunk * a.log_stride;
  }
  __device__ __forceinline__ long long slot(const Args& a, int q) const { return (long long)network * a.chunk + q - from; }
  // Events that reach a layer: {which of the recording's events, entry of the layer}, and how many per segment.
  __device__ __forceinline__ int2* list(const Args& a, int layer, int q) const { return a.list + (layer - 1) * plane + slot(a, q) * a.log_stride; }
  __device__ __forceinline__ int* listed(const Args& a, int layer, int q) const {
    return a.listed + ((long long)(layer - 1) * a.networks * a.chunk + slot(a, q)) * segments;
  }
};
