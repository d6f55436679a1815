// A Window layer on the path layer by layer. Follows deep.cu.
//
// The first layer has its time map in shared memory. An upper layer has one row of polarities per place, in the card's memory; the 32
// events of a block read a row as it was before the block, or as an earlier event of the block left it (its version).

// A warp and its shared memory. Of the first layer: map, times in the windows of a block, events {where, time}. Of others: which events of a
// block are at each place (all of them: nothing fired there yet, and nobody cleared that row), rows of the map that make up each window, and
// events {row, which are there before, polarity, time}.
template <int k> struct Warp {
  using Z = Of<k>;
  static constexpr int LOADS = (Z::entries + 31) / 32;
  int lane, g8, t4;
  unsigned upto, before;
  uint4* parts;                                     // centroids as the tensor cores want them: four values, high then low parts
  float *th, *cc, *near;                            // of the units: threshold, squared length, offset of `nearness`
  float *map, *times_of; int2* line;                // of the first layer
  unsigned* here; int* row_of; int4* event;         // of others
  float* rows;                                      // of others: the map
  unsigned step[LOADS];                             // of the first layer: from the corner to the entries that this lane loads

  __device__ __forceinline__ Warp(const Args& a, float4* memory, int network) {
    const int warp = threadIdx.x >> 5;
    lane = threadIdx.x & 31; g8 = lane >> 2; t4 = lane & 3;
    upto = ALL >> (31 - lane); before = upto >> 1;
    parts = (uint4*)memory;
    th = (float*)(parts + 2 * Z::steps * Z::nt * 32);
    cc = th + Z::nt * 8;
    near = cc + Z::nt * 8;
    float* own = near + Z::nt * 8 + warp * Z::own;
    map = own;
    times_of = map + MAP;
    line = (int2*)(times_of + 32 * Z::stride);
    here = (unsigned*)own;
    row_of = (int*)(here + (Z::field + 3) / 4 * 4);
    event = (int4*)(row_of + Z::places * 32);
    rows = (float*)a.scratch + (((long long)network * gridDim.x + blockIdx.x) * (blockDim.x >> 5) + warp) * Z::map;
  }
  static __device__ __forceinline__ int centre_at() { return inside<k>(Z::places / 2); }   // from the corner of a neighbourhood to its middle
};

// A segment of a recording.
template <int k> struct Segment {
  long long out, at;                                // number of the recording among those of all networks; where its events are written
  int begin, count, number;                         // its first event, how many, its number in the recording
  const int *entries, *times;
  unsigned began;                                   // clocks may wrap: only differences count
  const int2* list; const int* listed;              // of upper layers: events that reach it
  // Which event of the recording, and its entry.
  __device__ __forceinline__ int2 event_at(int m) const { m = min(m, count - 1) + begin; return k ? list[m] : make_int2(m, entries[m]); }
};

// ---------------------------------------------------------------------- before the first segment

template <int k>
__device__ __forceinline__ void split_centroids(const Args& a, int network, uint4* parts) {
  using Z = Of<k>;
  const float* c = a.layer[k].c + (long long)network * Z::entries * SHAPE[k].row;
  for (int i = threadIdx.x; i < 2 * Z::steps * Z::nt * 32; i += blockDim.x) {
    const int n = (i >> 5) % Z::nt * 8 + ((i & 31) >> 2), column = (i >> 5) / Z::nt * 16 + (i & 3) * 4;
    float v[4];
    #pragma unroll
    for (int j = 0; j < 4; j++) {
      const int entry = entry_of<k>(column + j);
      v[j] = entry >= 0 && n < Z::units ? fminf(fmaxf(c[entry * SHAPE[k].row + n], -65504.f), 65504.f) : 0.f;   // one that diverged is far in any case
    }
    const unsigned one = pack(v[0], v[1]), two = pack(v[2], v[3]);
    parts[i] = make_uint4(one, two, rest(v[0], v[1], one), rest(v[2], v[3], two));
  }
}

// Thresholds and lengths of the units; units that only fill up a step are far from everything. And empty windows.
template <int k>
__device__ __forceinline__ void fill_shared(const Args& a, int network, Warp<k>& warp, const Rates& rates) {
  using Z = Of<k>;
  for (int n = threadIdx.x; n < Z::nt * 8; n += blockDim.x) {
    const float border = n < Z::units ? a.layer[k].th[network * Z::units + n] : 0.f;
    warp.th[n] = border;
    warp.near[n] = offset_of(rates, border);
    warp.cc[n] = n < Z::units ? a.layer[k].cc[network * Z::units + n] : 1e37f;
  }
  if constexpr (k == 0) {
    #pragma unroll
    for (int i = 0; i < Warp<k>::LOADS; i++) warp.step[i] = inside<0>(warp.lane + 32 * i < Z::entries ? warp.lane + 32 * i : 0);
    for (int i = warp.lane; i < 32 * Z::stride; i += 32) warp.times_of[i] = NEVER;
  } else {
    for (int i = warp.lane; i < Z::words; i += 32) warp.rows[(Z::field + 32) * Z::words + i] = NEVER;
  }
  __syncthreads();
}

// ---------------------------------------------------------------------- the time map

// The map as the events before the segment leave it: as time never goes back, the latest is the largest.
template <int k>
__device__ __forceinline__ void replay(const Args& a, const Warp<k>& warp, const Segment<k>& of) {
  using Z = Of<k>;
  __syncwarp();
  if constexpr (k == 0) {
    for (int i = warp.lane; i < MAP; i += 32) warp.map[i] = NEVER;
    __syncwarp();
    #pragma unroll 4
    for (int i = warp.lane; i < of.begin; i += 32)
      atomicMax((int*)warp.map + corner<0>(of.entries[i] / Z::polarities) + OWN + of.entries[i] % Z::polarities, __float_as_int((float)(int)(of.times[i] - of.began)));
  } else {
    for (int i = warp.lane; i < Z::field; i += 32) warp.here[i] = ALL;
    __syncwarp();
    for (int s = 0; s < of.number; s++) {
      const int some = of.listed[s];
      for (int m = 0; m < some; m += 32) {
        const int2 then = of.list[s * a.segment + min(m + warp.lane, some - 1)];
        const int row = corner<k>(then.y / Z::polarities) + warp.centre_at(), when = of.times[then.x];
        for (unsigned fresh = __ballot_sync(ALL, warp.here[row] == ALL); fresh; fresh &= fresh - 1) {
          float* cleared = warp.rows + __shfl_sync(ALL, row, __ffs(fresh) - 1) * Z::words;
          for (int i = warp.lane; i < Z::words; i += 32) cleared[i] = NEVER;
        }
        __syncwarp();
        warp.here[row] = 0;
        atomicMax((int*)warp.rows + row * Z::words + then.y % Z::polarities, __float_as_int((float)(int)(when - of.began)));
        __syncwarp();
      }
    }
  }
  __syncwarp();
}

// First layer: times in the windows of a block of events. The event's own time is written before its window is read.
__device__ __forceinline__ void read_windows(const Warp<0>& warp, int place, int p, float t) {
  using Z = Of<0>;
  constexpr int LOADS = Warp<0>::LOADS;
  warp.line[warp.lane] = make_int2(corner<0>(place) + (p << 20), __float_as_int(t));
  __syncwarp();
  #pragma unroll 2
  for (int j = 0; j < 32; j += 4) {
    int2 e[4]; float v[4 * LOADS];
    #pragma unroll
    for (int u = 0; u < 4; u++) e[u] = warp.line[j + u];
    #pragma unroll
    for (int u = 0; u < 4; u++) {
      const float* from = warp.map + (Z::polarities > 1 ? e[u].x & 0xfffff : e[u].x);
      ((volatile float*)from)[OWN + (Z::polarities > 1 ? e[u].x >> 20 : 0)] = __int_as_float(e[u].y);
      __syncwarp();
      #pragma unroll
      for (int i = 0; i < LOADS; i++) v[u * LOADS + i] = ((const volatile float*)from)[warp.step[i]];
      __syncwarp();
    }
    #pragma unroll
    for (int u = 0; u < 4; u++)
      #pragma unroll
      for (int i = 0; i < LOADS; i++) if (warp.lane + 32 * i < Z::entries) warp.times_of[(j + u) * Z::stride + warp.lane + 32 * i] = v[u * LOADS + i];
  }
}

// Upper layers: which row, and which version of it, each place of a window is; then the versions that the events of the block leave.
// Returned: the row of this lane's event.
template <int k>
__device__ __forceinline__ int write_versions(const Warp<k>& warp, bool valid, int place, int p, float t) {
  using Z = Of<k>;
  const int from = corner<k>(place), own_row = from + warp.centre_at();
  const bool fresh = warp.here[own_row] == ALL;
  __syncwarp();
  if (fresh) warp.here[own_row] = 0;
  __syncwarp();
  if (valid) atomicOr(warp.here + own_row, 1u << warp.lane);
  __syncwarp();
  warp.event[warp.lane] = make_int4(own_row * Z::words | fresh, warp.here[own_row] & warp.before, p, __float_as_int(t));
  #pragma unroll 9
  for (int n = 0; n < Z::places; n++) {
    const int row = from + inside<k>(n);
    const unsigned lately = warp.here[row];
    const int version = lately & warp.upto ? 31 - __clz(lately & warp.upto) : 0;
    warp.row_of[n * 32 + warp.lane] = (row != own_row && lately == ALL ? Z::field + 32 : lately & warp.upto ? Z::field + version : row) * Z::words;
  }
  __syncwarp();
  #pragma unroll
  for (int w = 0; w < Z::words; w += 32)
    for (int j = 0; j < 32; j += 8) {
      int4 e[8]; float v[8];
      #pragma unroll
      for (int u = 0; u < 8; u++) { e[u] = warp.event[j + u]; v[u] = NEVER; if (!(e[u].x & 1)) v[u] = warp.rows[e[u].x + w + warp.lane]; }
      #pragma unroll
      for (int u = 0; u < 8; u++) {
        if (e[u].x & 1) warp.rows[e[u].x - 1 + w + warp.lane] = NEVER;
        for (unsigned m = e[u].y; m; m &= m - 1) { const int4 then = warp.event[__ffs(m) - 1]; if (then.z == w + warp.lane) v[u] = __int_as_float(then.w); }
        if (e[u].z == w + warp.lane) v[u] = __int_as_float(e[u].w);
        warp.rows[(Z::field + j + u) * Z::words + w + warp.lane] = v[u];
      }
    }
  return own_row;
}

// ---------------------------------------------------------------------- distances

// Products of surfaces and centroids; rows are events, columns units. A lane has rows g8 + 8 r, and four columns of each half step.
template <int k> struct Products {
  using Z = Of<k>;
  float dist[2][Z::nt][4], norm[4], t_row[4];
  unsigned top[2][2][4];                            // surfaces, the larger part: [half][..]

  __device__ __forceinline__ void fetched(const Warp<k>& warp, float4 (&v)[4], int step, int half) const {
    #pragma unroll
    for (int r = 0; r < 4; r++) {
      if constexpr (k == 0) v[r] = *(const float4*)(warp.times_of + (warp.g8 + 8 * r) * Z::stride + step * 32 + half * 16 + 4 * warp.t4);
      else v[r] = *(const float4*)(warp.rows + warp.row_of[step * 32 / Z::words * 32 + warp.g8 + 8 * r] + step * 32 % Z::words + half * 16 + 4 * warp.t4);
    }
  }

  // Times become values of surfaces, in two parts.
  __device__ __forceinline__ void split(const float4 (&v)[4], int half, float fade, unsigned (&low)[2][4]) {
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
  }

  __device__ __forceinline__ void multiplied(const Warp<k>& warp, const float4 (&v)[4], int step, int half, float fade) {
    unsigned low[2][4];
    split(v, half, fade, low);
    #pragma unroll
    for (int from = 0; from < Z::nt; from += 4) {   // some at a time: each product waits for the one before into the same sum
      constexpr int some = Z::nt < 4 ? Z::nt : 4;
      uint4 b[some];
      #pragma unroll
      for (int i = 0; i < some; i++) if (from + i < Z::nt) b[i] = warp.parts[((2 * step + half) * Z::nt + from + i) * 32 + warp.lane];
      #pragma unroll
      for (int i = 0; i < some; i++) if (from + i < Z::nt) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], low[mt], b[i].x, b[i].y);
      #pragma unroll
      for (int i = 0; i < some; i++) if (from + i < Z::nt) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], top[half][mt], b[i].z, b[i].w);
      #pragma unroll
      for (int i = 0; i < some; i++) if (from + i < Z::nt) for (int mt = 0; mt < 2; mt++) product(dist[mt][from + i], top[half][mt], b[i].x, b[i].y);
    }
  }

  // All steps along the surfaces; when learning, each is written out: it is read once, much later. Lanes beyond the last event repeat it.
  __device__ __forceinline__ void multiply(const Warp<k>& warp, uint4* const (&written)[4], float fade) {
    float4 one[4], two[4];
    fetched(warp, one, 0, 0);
    #pragma unroll 1                                // longer code would wait for itself to be fetched
    for (int step = 0; step < Z::steps; step++) {
      fetched(warp, two, step, 1);
      multiplied(warp, one, step, 0, fade);
      if (step + 1 < Z::steps) fetched(warp, one, step + 1, 0);
      multiplied(warp, two, step, 1, fade);
      if (LEARN)
        #pragma unroll
        for (int r = 0; r < 4; r++) {
          const unsigned (&first)[4] = top[0][r >> 1], (&second)[4] = top[1][r >> 1];
          __stcs(written[r] + 4 * step, make_uint4(first[r & 1], first[2 + (r & 1)], second[r & 1], second[2 + (r & 1)]));
        }
    }
  }

  // Squared distances, and the closest unit of each row of this lane; when learning, how near each is to its threshold is written out.
  __device__ __forceinline__ void closest_units(const Warp<k>& warp, uint4* const (&written)[4], float slope, float (&best)[4], int (&closest)[4]) {
    constexpr int NT = Z::nt;
    #pragma unroll
    for (int i = 0; i < 4; i++) { norm[i] += __shfl_xor_sync(ALL, norm[i], 1); norm[i] += __shfl_xor_sync(ALL, norm[i], 2); }
    unsigned nearby[4][NT];
    #pragma unroll
    for (int i = 0; i < 4; i++) { best[i] = 1e38f; closest[i] = 0; }
    #pragma unroll
    for (int nt = 0; nt < NT; nt++) {
      const int unit = nt * 8 + 2 * warp.t4;
      const float2 length = *(float2*)(warp.cc + unit), border = *(float2*)(warp.th + unit), offset = *(float2*)(warp.near + unit);
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        float* d = &dist[i >> 1][nt][(i & 1) * 2];
        keep_closest(d, norm[i], length, unit, best[i], closest[i]);
        if (LEARN) {
          const float one = root(fmaxf(d[0], 0.f)), two = root(fmaxf(d[1], 0.f));
          nearby[i][nt] = pack(one < border.x ? nearness(one, slope, offset.x) : 0.f, two < border.y ? nearness(two, slope, offset.y) : 0.f);
        }
      }
    }
    if (LEARN)
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        unsigned* to = (unsigned*)(written[i] - warp.t4 + Z::columns / 8) + warp.t4 * NT;
        #pragma unroll
        for (int nt = 0; nt < NT; nt += NT % 4 ? 1 : 4)
          if constexpr (NT % 4) __stcs(to + nt, nearby[i][nt]);
          else __stcs((uint4*)(to + nt), make_uint4(nearby[i][nt], nearby[i][nt + 1], nearby[i][nt + 2], nearby[i][nt + 3]));
      }
  }
};

// ---------------------------------------------------------------------- the layer

// All events of a segment; returned: how many pass.
template <int k>
__device__ __forceinline__ int run_segment(const Args& a, const Work& work, const Warp<k>& warp, const Segment<k>& of, int2* onward, float fade, float slope) {
  using Z = Of<k>;
  unsigned short* lines = a.lines + work.plane * lines_below<k>() + of.at * Z::line;
  int passed = 0;
  int2 now = of.count ? of.event_at(warp.lane) : make_int2(0, 0);
  int time = of.times[now.x];
  for (int base = 0; base < of.count; base += 32) {
    const bool valid = base + warp.lane < of.count;
    const int number = now.x, place = now.y / Z::polarities, p = now.y % Z::polarities;
    const float t = (float)(int)((unsigned)time - of.began);
    now = of.event_at(base + 32 + warp.lane);       // fetched for the next step
    int own_row = 0;
    if constexpr (k == 0) read_windows(warp, place, p, t);
    else own_row = write_versions<k>(warp, valid, place, p, t);
    __syncwarp();

    Products<k> products;
    uint4* written[4];                              // where the rows of this lane are written out
    #pragma unroll
    for (int i = 0; i < 8 * Z::nt; i++) (&products.dist[0][0][0])[i] = 0.f;
    #pragma unroll
    for (int r = 0; r < 4; r++) {
      products.norm[r] = 0.f;
      products.t_row[r] = __shfl_sync(ALL, t, warp.g8 + 8 * r);
      if (LEARN) written[r] = (uint4*)(lines + (long long)__shfl_sync(ALL, number, warp.g8 + 8 * r) * Z::line) + warp.t4;
    }
    products.multiply(warp, written, fade);
    time = of.times[now.x];
    if constexpr (k > 0) {
      __syncwarp();
      if (valid) { atomicMax((int*)warp.rows + own_row * Z::words + p, __float_as_int(t)); warp.here[own_row] = 0; }
    }
    float best[4], square; int closest[4], f;
    products.closest_units(warp, written, slope, best, closest);
    closest_of(best, closest, warp.lane, square, f);
    const float distance = sqrtf(fmaxf(square, 0.f));
    const bool pass = valid && distance < warp.th[f];
    const unsigned passing = __ballot_sync(ALL, pass);
    if (pass) onward[passed + __popc(passing & warp.before)] = make_int2(number, output_place<k>(place) * Z::units + f);
    passed += __popc(passing);
    if (LEARN && valid) {
      a.fired[k * work.plane + of.at + number] = f;
      if (k == 0) for (int above = 0; above < TOP; above++) a.judged[above * work.plane + of.at + number] = make_float2(0.f, 0.f);
    }
    __syncwarp();
  }
  return passed;
}

template <int k>
__device__ __forceinline__ void layer(const Args& a, int chunk) {
  extern __shared__ float4 memory[];
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network;
  const Rates rates = rates_now(a, network, k);
  Warp<k> warp(a, memory, network);
  split_centroids<k>(a, network, warp.parts);
  fill_shared<k>(a, network, warp, rates);
  const float slope = slope_of(rates), fade = rates.fade;
  while (true) {
    int item = 0;
    if (warp.lane == 0) item = atomicAdd(a.next + k * a.networks + network, 1);
    item = __shfl_sync(ALL, item, 0);
    if (item >= (work.to - work.from) * work.segments) break;
    Segment<k> of;
    const int q = work.from + item / work.segments;
    of.number = item % work.segments; of.begin = of.number * a.segment;
    of.out = (long long)network * a.recordings + q;
    const long long first = a.start[of.out];
    const int all = (int)(a.stop[of.out] - first);
    if (of.begin >= all) continue;
    of.entries = a.entry + first; of.times = a.t + first;
    of.began = of.times[0];
    of.list = k ? work.list(a, k, q) : nullptr;
    of.listed = k ? work.listed(a, k, q) : nullptr;
    of.count = k ? of.listed[of.number] : min(a.segment, all - of.begin);
    of.at = work.slot(a, q) * a.log_stride;
    replay<k>(a, warp, of);
    const int passed = run_segment<k>(a, work, warp, of, work.list(a, k + 1, q) + of.begin, fade, slope);
    if (warp.lane == 0) {
      work.listed(a, k + 1, q)[of.number] = passed;
      if (passed) atomicAdd(a.kept + of.out * LAYERS + k, passed);
    }
  }
}
