// The path layer by layer, for networks of several Window layers below one Full layer, weights that stay for the whole batch.
//
// With weights that stay, what a Window layer decides never changes its own time map: only which of its outputs are there does, for the
// layer above. So each layer is a kernel of its own, over all events of a chunk of recordings, and lists what it lets pass:
//   layer  a Window layer. A warp takes a segment of a recording, 32 events at a time: their surfaces times all centroids on the tensor
//          cores, each factor in two half-precision parts, three products. What came before the segment is only written into the map.
//   last   the Full layer. A warp takes a recording, 32 events at a time, as a scan over the lanes: dot_n = dot_n fade + w c_n[e],
//          w = 1 - v_old; S and dS of every layer; and backwards the sums of this layer, dC[n, e] += w_k R_n(k), as in general.cu.
//   learn  sums of a Window layer. Its surfaces, and how near each distance is to its threshold, were written out by `layer`; threads own
//          columns of the sums, and take event after event.
//
// Follows card.cu and warp.cu. Further constants of engines/cuda/deep.py: LEARN, MAP, MAP_STRIDE, OWN, LAST_MAP; it writes the kernels at the end.

constexpr int TOP = LAYERS - 1;
constexpr Shape LAST = SHAPE[TOP];
constexpr int CLASSES = LAST.units, ROW = LAST.row;
constexpr float NEVER = -1e30f;                     // a time
constexpr int RESET = 1 << 30;                      // us: the clock of the last layer's map starts again
constexpr int LAST_WARPS = 4;                       // a block of threads that does the last layer
constexpr int TOLD = 96, IN_FLIGHT = 16;            // events that `learn` is told of, and that it asks memory for, at a time

constexpr __host__ __device__ int places_of(Shape shape) {   // of the padded field
  int n = 1;
  for (int d = 0; d < shape.dimensions; d++) n *= shape.field[d] + shape.side[d] - 1;
  return n;
}
constexpr __host__ __device__ int field_of(Shape shape) {
  int n = 1;
  for (int d = 0; d < shape.dimensions; d++) n *= shape.field[d];
  return n;
}

template <int k> struct Of {                        // sizes of a Window layer
  static constexpr int units = SHAPE[k].units, polarities = SHAPE[k].polarities, entries = SHAPE[k].entries, places = entries / polarities;
  static constexpr int words = (polarities + 31) / 32 * 32;          // a place on the map of an upper layer: whole steps of 32
  static constexpr int steps = k ? places * words / 32 : (entries + 31) / 32, columns = 32 * steps;
  static constexpr int nt = (units + 7) / 8, line = columns + 8 * nt;   // halves that `layer` writes out for `learn`: surface, then nearness
  static constexpr int stride = columns + 16;       // of times in shared memory: no bank is asked twice
  static constexpr int field = k ? places_of(SHAPE[k]) : 0;
  static constexpr int rows = field + 33;           // of its map: places; a place as it is after each event of a block; one where nothing fired
  static constexpr int own = k ? (field + 3) / 4 * 4 + places * 32 + 128 : MAP + 32 * stride + 64;   // words of shared memory a warp
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

__device__ __forceinline__ unsigned pack(float x, float y) { unsigned v; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(y), "f"(x)); return v; }
__device__ __forceinline__ float2 unpack(unsigned v) {
  float2 pair;
  asm("{ .reg .b16 x, y; mov.b32 {x, y}, %2; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; }" : "=f"(pair.x), "=f"(pair.y) : "r"(v));
  return pair;
}
__device__ __forceinline__ unsigned rest(float x, float y, unsigned top) { const float2 taken = unpack(top); return pack(x - taken.x, y - taken.y); }

__device__ __forceinline__ void product(float* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

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
  // Events that reach a layer: {which of the recording's events, entry of the layer}, and how many of each segment.
  __device__ __forceinline__ int2* list(const Args& a, int layer, int q) const { return a.list + (layer - 1) * plane + slot(a, q) * a.log_stride; }
  __device__ __forceinline__ int* listed(const Args& a, int layer, int q) const {
    return a.listed + ((long long)(layer - 1) * a.networks * a.chunk + slot(a, q)) * segments;
  }
};

template <int k>
__device__ __forceinline__ void layer(const Args& a, int chunk) {
  using Z = Of<k>;
  constexpr int NT = Z::nt, LOADS = (Z::entries + 31) / 32;
  extern __shared__ float4 memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g8 = lane >> 2, t4 = lane & 3;
  const unsigned upto = ALL >> (31 - lane), before = upto >> 1;
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network;
  const Rates rates = rates_now(a, network, k);
  uint4* parts = (uint4*)memory;                    // centroids as the tensor cores want them: four values, high then low parts
  float* th = (float*)(parts + 2 * Z::steps * NT * 32);
  float* cc = th + NT * 8;
  float* near = cc + NT * 8;                        // near(distance) = exp2(distance slope + near[n])
  float* own = near + NT * 8 + warp * Z::own;
  const float* c = a.layer[k].c + (long long)network * Z::entries * SHAPE[k].row;
  for (int i = threadIdx.x; i < 2 * Z::steps * NT * 32; i += blockDim.x) {
    const int n = (i >> 5) % NT * 8 + ((i & 31) >> 2), column = (i >> 5) / NT * 16 + (i & 3) * 4;
    float v[4];
    #pragma unroll
    for (int j = 0; j < 4; j++) {
      const int entry = entry_of<k>(column + j);
      v[j] = entry >= 0 && n < Z::units ? fminf(fmaxf(c[entry * SHAPE[k].row + n], -65504.f), 65504.f) : 0.f;   // one that fled is far in any case
    }
    const unsigned one = pack(v[0], v[1]), two = pack(v[2], v[3]);
    parts[i] = make_uint4(one, two, rest(v[0], v[1], one), rest(v[2], v[3], two));
  }
  const bool centre = rates.flags & CENTRE;
  const float slope = centre ? -rates.d : rates.d, fade = rates.fade;
  for (int n = threadIdx.x; n < NT * 8; n += blockDim.x) {   // units that only fill up a step are far from everything
    const float border = n < Z::units ? a.layer[k].th[network * Z::units + n] : 0.f;
    th[n] = border;
    near[n] = isinf(border) ? __int_as_float(0xff800000) : centre ? 0.f : -border * slope;
    cc[n] = n < Z::units ? a.layer[k].cc[network * Z::units + n] : 1e37f;
  }
  // of the first layer: its map, times in the windows of a block, and events of a block {where, time};
  // of others: which events of a block are at each place, rows of the map that make up each window, and events {row, which are there, polarity, time}.
  // Where nothing fired yet all events are: nobody cleared that row
  float* map = own;
  float* times_of = map + MAP;
  int2* line = (int2*)(times_of + 32 * Z::stride);
  unsigned* here = (unsigned*)own;
  int* row_of = (int*)(here + (Z::field + 3) / 4 * 4);
  int4* event = (int4*)(row_of + Z::places * 32);
  float* rows = (float*)a.scratch + (((long long)network * gridDim.x + blockIdx.x) * (blockDim.x >> 5) + warp) * Z::rows * Z::words;
  unsigned step[LOADS];                             // from the corner to the entries that this lane loads
  if constexpr (k == 0) {
    #pragma unroll
    for (int i = 0; i < LOADS; i++) step[i] = inside<0>(lane + 32 * i < Z::entries ? lane + 32 * i : 0);
    for (int i = lane; i < 32 * Z::stride; i += 32) times_of[i] = NEVER;
  } else {
    for (int i = lane; i < Z::words; i += 32) rows[(Z::field + 32) * Z::words + i] = NEVER;
  }
  const int centre_at = k ? inside<k>(Z::places / 2) : OWN;
  __syncthreads();

  while (true) {
    int item = 0;
    if (lane == 0) item = atomicAdd(a.next + k * a.networks + network, 1);
    item = __shfl_sync(ALL, item, 0);
    if (item >= (work.to - work.from) * work.segments) break;
    const int q = work.from + item / work.segments, segment = item % work.segments, begin = segment * a.segment;
    const long long out = (long long)network * a.recordings + q, first = a.start[out];
    const int all = (int)(a.stop[out] - first);
    if (begin >= all) continue;
    const int *entries = a.entry + first, *times = a.t + first;
    const unsigned began = times[0];                // clocks may wrap: only differences count
    const int2* list = k ? work.list(a, k, q) : nullptr;
    const int* listed = k ? work.listed(a, k, q) : nullptr;
    const int count = k ? listed[segment] : min(a.segment, all - begin);
    const long long at = work.slot(a, q) * a.log_stride;
    unsigned short* lines = a.lines + work.plane * lines_below<k>() + at * Z::line;

    // the map as the events before the segment leave it: as time never goes back, the latest is the largest
    __syncwarp();
    if constexpr (k == 0) {
      for (int i = lane; i < MAP; i += 32) map[i] = NEVER;
      __syncwarp();
      #pragma unroll 4
      for (int i = lane; i < begin; i += 32)
        atomicMax((int*)map + corner<0>(entries[i] / Z::polarities) + OWN + entries[i] % Z::polarities, __float_as_int((float)(int)(times[i] - began)));
    } else {
      for (int i = lane; i < Z::field; i += 32) here[i] = ALL;
      __syncwarp();
      for (int s = 0; s < segment; s++) {
        const int some = listed[s];
        for (int m = 0; m < some; m += 32) {
          const int2 then = list[s * a.segment + min(m + lane, some - 1)];
          const int row = corner<k>(then.y / Z::polarities) + centre_at, when = times[then.x];
          for (unsigned fresh = __ballot_sync(ALL, here[row] == ALL); fresh; fresh &= fresh - 1) {
            float* cleared = rows + __shfl_sync(ALL, row, __ffs(fresh) - 1) * Z::words;
            for (int i = lane; i < Z::words; i += 32) cleared[i] = NEVER;
          }
          __syncwarp();
          here[row] = 0;
          atomicMax((int*)rows + row * Z::words + then.y % Z::polarities, __float_as_int((float)(int)(when - began)));
          __syncwarp();
        }
      }
    }
    __syncwarp();

    int passed = 0;
    int2* onward = work.list(a, k + 1, q) + begin;
    auto event_at = [&](int m) { m = min(m, count - 1) + begin; return k ? list[m] : make_int2(m, entries[m]); };
    int2 now = count ? event_at(lane) : make_int2(0, 0);
    int time = times[now.x];
    for (int base = 0; base < count; base += 32) {
      const bool valid = base + lane < count;
      const int number = now.x, place = now.y / Z::polarities, p = now.y % Z::polarities;
      const float t = (float)(int)((unsigned)time - began);
      now = event_at(base + 32 + lane);             // fetched for the next step
      int own_row = 0;
      if constexpr (k == 0) {                       // the event's own time is written before its window is read
        line[lane] = make_int2(corner<0>(place) + (p << 20), __float_as_int(t));
        __syncwarp();
        #pragma unroll 2
        for (int j = 0; j < 32; j += 4) {
          int2 e[4]; float v[4 * LOADS];
          #pragma unroll
          for (int u = 0; u < 4; u++) e[u] = line[j + u];
          #pragma unroll
          for (int u = 0; u < 4; u++) {
            const float* from = map + (Z::polarities > 1 ? e[u].x & 0xfffff : e[u].x);
            ((volatile float*)from)[OWN + (Z::polarities > 1 ? e[u].x >> 20 : 0)] = __int_as_float(e[u].y);
            __syncwarp();
            #pragma unroll
            for (int i = 0; i < LOADS; i++) v[u * LOADS + i] = ((const volatile float*)from)[step[i]];
            __syncwarp();
          }
          #pragma unroll
          for (int u = 0; u < 4; u++)
            #pragma unroll
            for (int i = 0; i < LOADS; i++) if (lane + 32 * i < Z::entries) times_of[(j + u) * Z::stride + lane + 32 * i] = v[u * LOADS + i];
        }
      } else {                                      // each row of a window is the map's, or as an event of this block left it
        const int from = corner<k>(place);
        own_row = from + centre_at;
        const bool fresh = here[own_row] == ALL;
        __syncwarp();
        if (fresh) here[own_row] = 0;
        __syncwarp();
        if (valid) atomicOr(here + own_row, 1u << lane);
        __syncwarp();
        event[lane] = make_int4(own_row * Z::words | fresh, here[own_row] & before, p, __float_as_int(t));
        #pragma unroll 9
        for (int n = 0; n < Z::places; n++) {
          const int row = from + inside<k>(n);
          const unsigned lately = here[row];
          const int version = lately & upto ? 31 - __clz(lately & upto) : 0;
          row_of[n * 32 + lane] = (row != own_row && lately == ALL ? Z::field + 32 : lately & upto ? Z::field + version : row) * Z::words;
        }
        __syncwarp();
        #pragma unroll
        for (int w = 0; w < Z::words; w += 32)
          for (int j = 0; j < 32; j += 8) {
            int4 e[8]; float v[8];
            #pragma unroll
            for (int u = 0; u < 8; u++) { e[u] = event[j + u]; v[u] = NEVER; if (!(e[u].x & 1)) v[u] = rows[e[u].x + w + lane]; }
            #pragma unroll
            for (int u = 0; u < 8; u++) {
              if (e[u].x & 1) rows[e[u].x - 1 + w + lane] = NEVER;
              for (unsigned m = e[u].y; m; m &= m - 1) { const int4 then = event[__ffs(m) - 1]; if (then.z == w + lane) v[u] = __int_as_float(then.w); }
              if (e[u].z == w + lane) v[u] = __int_as_float(e[u].w);
              rows[(Z::field + j + u) * Z::words + w + lane] = v[u];
            }
          }
      }
      __syncwarp();

      // squared distances: ||ts||^2 - 2 ts c + ||c||^2; rows are events, columns units. A lane has rows g8 + 8 r, and four columns of a step
      float dist[2][NT][4], norm[4] = {0.f, 0.f, 0.f, 0.f}, t_row[4];
      uint4* written[4];                            // where its rows are written out
      #pragma unroll
      for (int i = 0; i < 8 * NT; i++) (&dist[0][0][0])[i] = 0.f;
      #pragma unroll
      for (int r = 0; r < 4; r++) {
        t_row[r] = __shfl_sync(ALL, t, g8 + 8 * r);
        if (LEARN) written[r] = (uint4*)(lines + (long long)__shfl_sync(ALL, number, g8 + 8 * r) * Z::line) + t4;
      }
      auto fetched = [&](float4 (&v)[4], int step, int half) {
        #pragma unroll
        for (int r = 0; r < 4; r++) {
          if constexpr (k == 0) v[r] = *(const float4*)(times_of + (g8 + 8 * r) * Z::stride + step * 32 + half * 16 + 4 * t4);
          else v[r] = *(const float4*)(rows + row_of[step * 32 / Z::words * 32 + g8 + 8 * r] + step * 32 % Z::words + half * 16 + 4 * t4);
        }
      };
      unsigned top[2][2][4];                        // surfaces, the larger part
      auto multiplied = [&](const float4 (&v)[4], int step, int half) {
        unsigned low[2][4];
        #pragma unroll
        for (int r = 0; r < 4; r++) {
          float x[4] = {v[r].x, v[r].y, v[r].z, v[r].w};
          #pragma unroll
          for (int i = 0; i < 4; i++) { x[i] = ex2((x[i] - t_row[r]) * fade); norm[r] = fmaf(x[i], x[i], norm[r]); }
          #pragma unroll
          for (int i = 0; i < 2; i++) {
            const unsigned high = pack(x[2 * i], x[2 * i + 1]);
            top[half][r >> 1][2 * i + (r & 1)] = high; low[r >> 1][2 * i + (r & 1)] = rest(x[2 * i], x[2 * i + 1], high);
          }
        }
        #pragma unroll
        for (int from = 0; from < NT; from += 4) {     // some at a time: each product waits for the one before into the same sum
          constexpr int some = NT < 4 ? NT : 4;
          uint4 b[some];
          #pragma unroll
          for (int i = 0; i < some; i++) if (from + i < NT) b[i] = parts[((2 * step + half) * NT + from + i) * 32 + lane];
          #pragma unroll
          for (int i = 0; i < some; i++) if (from + i < NT) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], low[mt], b[i].x, b[i].y);
          #pragma unroll
          for (int i = 0; i < some; i++) if (from + i < NT) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], top[half][mt], b[i].z, b[i].w);
          #pragma unroll
          for (int i = 0; i < some; i++) if (from + i < NT) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], top[half][mt], b[i].x, b[i].y);
        }
      };
      float4 one[4], two[4];
      fetched(one, 0, 0);
      #pragma unroll 1                              // code that is longer waits for itself
      for (int step = 0; step < Z::steps; step++) {
        fetched(two, step, 1);
        multiplied(one, step, 0);
        if (step + 1 < Z::steps) fetched(one, step + 1, 0);
        multiplied(two, step, 1);
        if (LEARN)                                  // read once, much later; lanes beyond the last event repeat it
          #pragma unroll
          for (int r = 0; r < 4; r++) {
            const unsigned (&first)[4] = top[0][r >> 1], (&second)[4] = top[1][r >> 1];
            __stcs(written[r] + 4 * step, make_uint4(first[r & 1], first[2 + (r & 1)], second[r & 1], second[2 + (r & 1)]));
          }
      }
      time = times[now.x];
      if constexpr (k > 0) {
        __syncwarp();
        if (valid) { atomicMax((int*)rows + own_row * Z::words + p, __float_as_int(t)); here[own_row] = 0; }
      }
      #pragma unroll
      for (int i = 0; i < 4; i++) { norm[i] += __shfl_xor_sync(ALL, norm[i], 1); norm[i] += __shfl_xor_sync(ALL, norm[i], 2); }
      float best[4]; int closest[4];
      unsigned nearness[4][NT];
      #pragma unroll
      for (int i = 0; i < 4; i++) { best[i] = 1e38f; closest[i] = 0; }
      #pragma unroll
      for (int nt = 0; nt < NT; nt++) {
        const float2 length = *(float2*)(cc + nt * 8 + 2 * t4), border = *(float2*)(th + nt * 8 + 2 * t4), offset = *(float2*)(near + nt * 8 + 2 * t4);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
          float* d = &dist[i >> 1][nt][(i & 1) * 2];
          d[0] = fmaf(-2.f, d[0], norm[i] + length.x); d[1] = fmaf(-2.f, d[1], norm[i] + length.y);
          if (d[0] < best[i]) { best[i] = d[0]; closest[i] = nt * 8 + 2 * t4; }
          if (d[1] < best[i]) { best[i] = d[1]; closest[i] = nt * 8 + 2 * t4 + 1; }
          if (LEARN) {
            const float one = root(fmaxf(d[0], 0.f)), two = root(fmaxf(d[1], 0.f));
            nearness[i][nt] = pack(one < border.x ? ex2(fmaf(one, slope, offset.x)) : 0.f, two < border.y ? ex2(fmaf(two, slope, offset.y)) : 0.f);
          }
        }
      }
      if (LEARN)
        #pragma unroll
        for (int i = 0; i < 4; i++) {
          unsigned* to = (unsigned*)(written[i] - t4 + Z::columns / 8) + t4 * NT;
          #pragma unroll
          for (int nt = 0; nt < NT; nt += NT % 4 ? 1 : 4)
            if constexpr (NT % 4) __stcs(to + nt, nearness[i][nt]);
            else __stcs((uint4*)(to + nt), make_uint4(nearness[i][nt], nearness[i][nt + 1], nearness[i][nt + 2], nearness[i][nt + 3]));
        }
      float square; int f;
      closest_of(best, closest, lane, square, f);
      const float distance = sqrtf(fmaxf(square, 0.f));
      const bool pass = valid && distance < th[f];
      const unsigned passing = __ballot_sync(ALL, pass);
      if (pass) onward[passed + __popc(passing & before)] = make_int2(number, place * Z::units + f);
      passed += __popc(passing);
      if (LEARN && valid) {
        a.fired[k * work.plane + at + number] = f;
        if (k == 0) for (int above = 0; above < TOP; above++) a.judged[above * work.plane + at + number] = make_float2(0.f, 0.f);
      }
      __syncwarp();
    }
    if (lane == 0) {
      work.listed(a, k + 1, q)[segment] = passed;
      if (passed) atomicAdd(a.kept + out * LAYERS + k, passed);
    }
  }
}

// What a hidden layer remembers of a recording, on the map of the warp: {value, clock} of every place. Behind the last layer's own map.
constexpr int PLACES = field_of(SHAPE[0]);
template <int k> __device__ __forceinline__ int2* sums_at(int* map) { return (int2*)(map + (LAST.entries + 1) / 2 * 2) + 2 * (k - 1) * PLACES; }
template <int k> __device__ __forceinline__ int2* previous_at(int* map) { return sums_at<k>(map) + PLACES; }
template <int k> __device__ __forceinline__ int* outputs_at(int* map) {    // last times of its units, of layers but the one below the last
  if constexpr (k == 1) return (int*)sums_at<TOP>(map);
  else return outputs_at<k - 1>(map) + PLACES * SHAPE[k - 1].units;
}

struct Lane {                                       // an event of a block of 32
  int e, clock, base;                               // entry; time on the clock of the map, and when the recording began there
  bool valid;
  unsigned before, upto;                            // lanes
  // Lanes with the same number; those beyond the last event have none in common with others.
  __device__ __forceinline__ unsigned same(int number) const { return __match_any_sync(ALL, valid ? number : (1 << 30) | __popc(before)); }
};

// When there was last an event at an entry, on the clock of the map; less than base: never. Then it is now.
__device__ __forceinline__ int last_time(int* map, const Lane& l) {
  const unsigned same = l.same(l.e), earlier = same & l.before;
  int then = -1;
  if (l.valid && !earlier) then = map[l.e];
  const int sibling = __shfl_sync(ALL, l.clock, 31 - __clz(earlier | 1u));
  __syncwarp();
  if (l.valid && !(same & ~l.upto)) map[l.e] = l.clock;
  return earlier ? sibling : then;
}

// S of a hidden layer but for its sign: 1 - mean of the other units' feedback at the place. Their sum is kept, and decays.
template <int k>
__device__ __forceinline__ float apart(int* map, const Lane& l, int then, float feedback) {
  const int place = l.e / SHAPE[k].units;
  const unsigned same = l.same(place), earlier = same & l.before;
  const int rank = __popc(earlier), previous = 31 - __clz(earlier | 1u);
  int2* sums = sums_at<k>(map);
  float sum = 0.f;
  if (l.valid && !rank) { const int2 old = sums[place]; if (old.y >= l.base) sum = __int_as_float(old.x) * ex2((float)(old.y - l.clock) * feedback); }
  const float news = then < l.base ? 1.f : 1.f - ex2((float)(then - l.clock) * feedback);
  const float decay = ex2((float)(__shfl_sync(ALL, l.clock, previous) - l.clock) * feedback);
  if (!rank) sum += news;
  for (int r = 1; __any_sync(ALL, rank >= r); r++) {   // events at one place, one after another
    const float below = __shfl_sync(ALL, sum, previous);
    if (rank == r) sum = fmaf(below, decay, news);
  }
  if (l.valid && !(same & ~l.upto)) sums[place] = make_int2(__float_as_int(sum), l.clock);
  return 1.f - (sum - 1.f) / (SHAPE[k].units > 1 ? SHAPE[k].units - 1 : 1);
}

// Hidden layers under the topmost hidden one, whose outputs the last layer does not see: what is apart in them.
template <int k>
__device__ __forceinline__ void apart_below(const Args& a, const Work& work, int q, int* map, const int* times, unsigned began, int events, Lane l, int lane) {
  if constexpr (k < TOP - 1) {
    const float feedback = rates_now(a, work.network, k).feedback;
    const int2* list = work.list(a, k + 1, q);
    const int* listed = work.listed(a, k + 1, q);
    float* found = a.apart + (k - 1) * work.plane + work.slot(a, q) * a.log_stride;
    for (int segment = 0; segment * a.segment < events; segment++)
      for (int m = 0; m < listed[segment]; m += 32) {
        const int2 now = list[segment * a.segment + min(m + lane, listed[segment] - 1)];
        l.e = now.y; l.valid = m + lane < listed[segment]; l.clock = l.base + (int)((unsigned)times[now.x] - began);
        const float value = apart<k>(map, l, last_time(outputs_at<k>(map), l), feedback);
        if (l.valid) found[now.x] = value;
        __syncwarp();
      }
    apart_below<k + 1>(a, work, q, map, times, began, events, l, lane);
  }
}

// S and dS of the hidden layers, for the events that came through all of them.
template <int k>
__device__ __forceinline__ void judge(const Args& a, const Work& work, long long at, int* map, const Lane& l, int number, float top, float sign) {
  if constexpr (k < TOP) {
    const int place = l.e / SHAPE[TOP - 1].units;
    const unsigned same = l.same(place), earlier = same & l.before;
    const float S = sign * (k == TOP - 1 ? top : l.valid ? a.apart[(k - 1) * work.plane + at + number] : 0.f);
    int2* previous = previous_at<k>(map);
    float old = __shfl_sync(ALL, S, 31 - __clz(earlier | 1u));
    if (!earlier) { old = 0.f; if (l.valid) { const int2 then = previous[place]; if (then.y >= l.base) old = __int_as_float(then.x); } }
    __syncwarp();
    if (l.valid) {
      if (!(same & ~l.upto)) previous[place] = make_int2(__float_as_int(S), l.clock);
      a.judged[(k - 1) * work.plane + at + number] = make_float2(S, S - old);
    }
    judge<k + 1>(a, work, at, map, l, number, top, sign);
  }
}

__device__ __forceinline__ void last_layer(const Args& a, int chunk) {
  const int lane = threadIdx.x & 31;
  const unsigned upto = ALL >> (31 - lane), before = upto >> 1;
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network;
  const Rates rates = rates_now(a, network, TOP);
  const float fade = rates.fade, feedback = rates.feedback, feedback_below = rates_now(a, network, TOP - 1).feedback;
  const long long own = ((long long)network * gridDim.x + blockIdx.x) * LAST_WARPS + (threadIdx.x >> 5);
  int* map = a.map + own * LAST_MAP;
  int base = a.base[own];
  const float* c = a.layer[TOP].c + (long long)network * LAST.entries * ROW;
  Sum* dc = a.layer[TOP].dc + (long long)network * LAST.entries * ROW;
  float cc[CLASSES];
  #pragma unroll
  for (int n = 0; n < CLASSES; n++) cc[n] = a.layer[TOP].cc[network * CLASSES + n];

  while (true) {
    int q = 0;
    if (lane == 0) q = work.from + atomicAdd(a.next + TOP * a.networks + network, 1);
    q = __shfl_sync(ALL, q, 0);
    if (q >= work.to) break;
    const long long out = (long long)network * a.recordings + q, first = a.start[out];
    const int label = a.label[out], events = (int)(a.stop[out] - first);
    const int* times = a.t + first;
    const unsigned began = events ? times[0] : 0;   // clocks may wrap: only differences count
    const int length = events ? (int)((unsigned)times[events - 1] - began) + 1 : 0;
    const long long at = work.slot(a, q) * a.log_stride;
    const int2* list = work.list(a, TOP, q);
    const int* listed = work.listed(a, TOP, q);
    float4* log = a.log + at;                       // entry and class, w, gain, time
    if (base > RESET - length) {                    // rare: what the map holds would come back as the future
      for (int i = lane; i < LAST_MAP; i += 32) map[i] = -1;
      base = 0;
      __syncwarp();
    }
    Lane l; l.base = base; l.before = before; l.upto = upto;
    if (LEARN) apart_below<1>(a, work, q, map, times, began, events, l, lane);
    float carry[ROW], fed_carry[ROW], t_carry = 0.f, S_carry = 0.f;
    #pragma unroll
    for (int n = 0; n < ROW; n++) { carry[n] = 0.f; fed_carry[n] = NEVER; }
    int votes = 0;
    for (int begin = 0, segment = 0; begin < events; begin += a.segment, segment++) {
      const int count = listed[segment];
      int2 ahead = count ? list[begin + min(lane, count - 1)] : make_int2(0, 0);
      int t_ahead = times[ahead.x];
      for (int m = 0; m < count; m += 32) {
        const int2 now = ahead;
        const int e = now.y, since = (int)((unsigned)t_ahead - began);
        const float t = (float)since;
        l.e = e; l.valid = m + lane < count; l.clock = base + since;
        float cs[ROW];
        #pragma unroll
        for (int i = 0; i < ROW / 4; i++) *(float4*)(cs + 4 * i) = __ldg((const float4*)(c + (long long)e * ROW) + i);
        ahead = list[begin + min(m + 32 + lane, count - 1)];   // fetched for the next step
        const int then = last_time(map, l);
        const float w = l.valid ? then < base ? 1.f : 1.f - ex2((float)(then - l.clock) * fade) : 0.f;
        float dot[ROW];
        #pragma unroll
        for (int n = 0; n < ROW; n++) dot[n] = w * cs[n];
        scan<CLASSES>(dot, t, fade, lane);
        const float decay = ex2((t_carry - t) * fade);
        int winner = 0; float least = 1e38f;
        #pragma unroll
        for (int n = 0; n < CLASSES; n++) {
          dot[n] = fmaf(decay, carry[n], dot[n]);
          const float d = fmaf(-2.f, dot[n], cc[n]);
          if (d < least) { least = d; winner = n; }
          carry[n] = __shfl_sync(ALL, dot[n], 31);
        }
        t_carry = __shfl_sync(ALL, t, 31);
        t_ahead = times[ahead.x];
        float others = 0.f;
        #pragma unroll
        for (int n = 0; n < CLASSES; n++) {
          const unsigned winning = __ballot_sync(ALL, l.valid && winner == n);
          if (lane == n) votes += __popc(winning);
          if (LEARN) {
            const unsigned so_far = winning & upto;
            const float when = __shfl_sync(ALL, t, 31 - __clz(so_far | 1u)), fed = so_far ? when : fed_carry[n];
            if (n != winner) others += ex2((fed - t) * feedback);
            fed_carry[n] = __shfl_sync(ALL, fed, 31);
          }
        }
        if (LEARN) {
          const float sign = label >= 0 && winner != label ? -1.f : 1.f, S = sign * (1.f - others * (1.f / (CLASSES > 1 ? CLASSES - 1 : 1)));
          float S_before = __shfl_up_sync(ALL, S, 1);
          if (lane == 0) S_before = S_carry;
          S_carry = __shfl_sync(ALL, S, min(31, count - m - 1));
          const float dS = S - S_before;
          if (l.valid) {
            log[begin + m + lane] = make_float4(__int_as_float(e | winner << 26), w, rates.alpha * dS + rates.beta * S, t);
            a.judged[(TOP - 1) * work.plane + at + now.x] = make_float2(S, dS);
          }
          judge<1>(a, work, at, map, l, now.x, apart<TOP - 1>(map, l, then, feedback_below), sign);
        }
        __syncwarp();
      }
    }
    if (lane < CLASSES) a.votes[out * CLASSES + lane] = votes;
    for (int s = 16; s; s >>= 1) votes += __shfl_xor_sync(ALL, votes, s);
    if (lane == 0) { a.kept[out * LAYERS + TOP] = votes; if (LEARN && votes) atomicAdd(a.output + network, votes); }
    base += length;
    if (LEARN) {
      float total_gain[CLASSES];
      #pragma unroll
      for (int n = 0; n < CLASSES; n++) total_gain[n] = carry[n] = 0.f;
      for (int segment = (events + a.segment - 1) / a.segment - 1; segment >= 0; segment--) {
        const int count = listed[segment], begin = segment * a.segment;
        int m = (count - 1) / 32 * 32;
        float4 ahead = make_float4(0.f, 0.f, 0.f, 0.f);
        if (count) ahead = log[begin + min(m + lane, count - 1)];
        for (; m >= 0 && count; m -= 32) {
          const float4 now = ahead;
          const bool valid = m + lane < count;
          const int e = __float_as_int(now.x) & 0x3ffffff, winner = (unsigned)__float_as_int(now.x) >> 26;
          const float t = now.w, g = valid ? now.z : 0.f, w = valid ? now.y : 0.f;
          ahead = log[begin + min(max(m - 32, 0) + lane, count - 1)];   // fetched for the next step
          float R[ROW];
          #pragma unroll
          for (int n = 0; n < ROW; n++) R[n] = 0.f;
          #pragma unroll
          for (int n = 0; n < CLASSES; n++) { R[n] = winner == n ? g : 0.f; total_gain[n] += R[n]; }
          scan_back<CLASSES>(R, t, fade, lane);
          const float decay = ex2((t - t_carry) * fade);
          #pragma unroll
          for (int n = 0; n < CLASSES; n++) { R[n] = fmaf(decay, carry[n], R[n]); carry[n] = __shfl_sync(ALL, R[n], 0); }
          t_carry = __shfl_sync(ALL, t, 0);
          give_entry(dc + (long long)e * ROW, R, w);
        }
      }
      give_gains(a.layer[TOP].dg + network * CLASSES, total_gain, lane);
    }
  }
  if (lane == 0) a.base[own] = base;
}

struct __align__(16) Four { Sum v[4]; };

template <int k>
__device__ __forceinline__ void learn(const Args& a, int chunk) {
  using Z = Of<k>;
  constexpr int FOURS = Z::columns / 4, OTHERS = (FOURS + 31) / 32 * 32;   // threads: four columns each; in other warps four thresholds each
  constexpr int THREADS = OTHERS + (2 * Z::nt + 31) / 32 * 32;
  constexpr int EACH = (TOLD + THREADS - 1) / THREADS;
  extern __shared__ float4 memory[];
  constexpr unsigned ASIDE = 1u << 31;
  Four* sums = (Four*)memory;                       // [unit][column]
  Sum* gains = (Sum*)(sums + Z::units * FOURS);
  __shared__ int4 line[TOLD + 2 * IN_FLIGHT];       // of events that learn: where it is written, where the sums of its unit are and aside whether
                                                    // other units step back, gain, push
  __shared__ int told, item;
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network, thread = threadIdx.x;
  const Rates rates = rates_now(a, network, k);
  for (int i = thread; i < Z::units * (Z::columns + 1); i += THREADS) ((Sum*)sums)[i] = 0;
  Four dth = {};
  const bool column = thread < FOURS, threshold = thread >= OTHERS && thread < OTHERS + 2 * Z::nt;
  int units[4];                                     // of thresholds
  #pragma unroll
  for (int i = 0; i < 4; i++) units[i] = unit_of<k>(threshold ? 4 * (thread - OTHERS) + i : 0);
  auto add_to = [](Four& sum, const float (&x)[4], float gain) {
    #pragma unroll
    for (int i = 0; i < 4; i++) sum.v[i] += exact(gain * x[i]);
  };
  while (true) {
    __syncthreads();
    if (thread == 0) item = atomicAdd(a.next + (LAYERS + k) * a.networks + network, 1);
    __syncthreads();
    const int taken = item;
    if (taken >= (work.to - work.from) * work.segments) break;
    const int q = work.from + taken / work.segments, begin = taken % work.segments * a.segment;
    const long long out = (long long)network * a.recordings + q;
    const int end = min(begin + a.segment, (int)(a.stop[out] - a.start[out]));
    const long long at = work.slot(a, q) * a.log_stride;
    const uint2* written = (const uint2*)(a.lines + work.plane * lines_below<k>() + at * Z::line) + (threshold ? FOURS + thread - OTHERS : min(thread, FOURS - 1));
    float2 judged[EACH]; int fired[EACH];           // of the next events
    auto ask = [&](int base) {
      #pragma unroll
      for (int i = 0; i < EACH; i++) {
        const int n = base + i * THREADS + thread;
        judged[i] = make_float2(0.f, 0.f); fired[i] = 0;
        if (n < min(base + TOLD, end)) { judged[i] = a.judged[k * work.plane + at + n]; fired[i] = a.fired[k * work.plane + at + n]; }
      }
    };
    ask(begin);
    for (int base = begin; base < end; base += TOLD) {
      __syncthreads();
      if (thread == 0) told = 0;
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < EACH; i++) {
        const float S = judged[i].x, dS = judged[i].y, gain = rates.alpha * dS + rates.beta * S, push = rates.gamma * dS + rates.delta * S;
        if (gain == 0.f && push == 0.f) continue;
        const bool back = (rates.flags & COMPETITION) && S >= -SLACK && dS >= -SLACK;
        const int where = (base + i * THREADS + thread) * (Z::line / 4);
        line[atomicAdd(&told, 1)] = make_int4(where, fired[i] * FOURS | (back ? ASIDE : 0u), __float_as_int(gain), __float_as_int(push));
        add(gains + fired[i], gain);
      }
      ask(base + TOLD);
      __syncthreads();
      if (told == 0) continue;
      const int count = (told + IN_FLIGHT - 1) / IN_FLIGHT * IN_FLIGHT;
      for (int i = told + thread; i < count + IN_FLIGHT; i += THREADS) line[i] = make_int4(line[0].x, 0, 0, 0);   // fill up with what adds nothing
      __syncthreads();
      uint2 v[IN_FLIGHT];
      #pragma unroll
      for (int u = 0; u < IN_FLIGHT; u++) v[u] = __ldcs(written + line[u].x);
      for (int j = 0; j < count; j += IN_FLIGHT) {
        #pragma unroll
        for (int u = 0; u < IN_FLIGHT; u += 2) {    // two at a time, so that neither waits for the other's sum
          int4 event[2]; float x[2][4];
          #pragma unroll
          for (int i = 0; i < 2; i++) {
            event[i] = line[j + u + i];
            const float2 one = unpack(v[u + i].x), two = unpack(v[u + i].y);
            x[i][0] = one.x; x[i][1] = one.y; x[i][2] = two.x; x[i][3] = two.y;
            v[u + i] = __ldcs(written + line[j + u + i + IN_FLIGHT].x);
          }
          if (column) {
            Four *one = sums + (event[0].y & ~ASIDE) + thread, *two = sums + (event[1].y & ~ASIDE) + thread;
            Four first = *one, second = *two;
            add_to(first, x[0], __int_as_float(event[0].z));
            if (((event[0].y ^ event[1].y) & ~ASIDE) == 0) second = first;
            add_to(second, x[1], __int_as_float(event[1].z));
            *one = first; *two = second;
          } else if (threshold) {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
              const float push = __int_as_float(event[i].w), back = event[i].y & ASIDE ? -push : 0.f;
              #pragma unroll
              for (int c = 0; c < 4; c++) dth.v[c] += exact(((event[i].y & ~ASIDE) == units[c] * FOURS ? push : back) * x[i][c]);
            }
          }
        }
      }
    }
  }
  if (threshold)
    for (int i = 0; i < 4; i++) if (units[i] < Z::units && dth.v[i] != 0) atomicAdd(a.layer[k].dth + network * Z::units + units[i], dth.v[i]);
  for (int i = thread; i < Z::units * Z::columns; i += THREADS) {
    const int n = i % Z::units, entry = entry_of<k>(column_of(i / Z::units));
    const Sum sum = sums[n * FOURS + i / Z::units / 4].v[i / Z::units % 4];
    if (entry >= 0 && sum != 0) atomicAdd(a.layer[k].dc + ((long long)network * Z::entries + entry) * SHAPE[k].row + n, sum);
  }
  for (int n = thread; n < Z::units; n += THREADS) if (gains[n] != 0) atomicAdd(a.layer[k].dg + network * Z::units + n, gains[n]);
}
