// The path by blocks of events, for networks of one Window layer below one Full layer, weights that stay for the whole batch.
//
// With weights that stay, what the first layer decides never changes its own time map. So a warp takes 32 events of a recording
// at a time (lane = event):
//   1. their surfaces, in order, into shared memory;
//   2. products with all centroids on the tensor cores; each factor is split in two TF32 parts, and three products are made of them;
//   3. the last layer, a linear recurrence, as a scan over the lanes: dot_n = dot_n fade + w c_n[e],  w = 1 - v_old;
//   4. when learning: S and dS, steps of thresholds, and sums of gain x surface as (one-hot gain) x surfaces, on the tensor cores;
//   5. after the last block, backwards: sums of the last layer, a reverse scan: dC[n, e] += w_k R_n(k),
//      R_n(k) = sum over later outputs i of n: g_i exp(-(t_i - t_k) / tau).
// GROUP warps share a recording where there are too few to fill the card. Block b is of warp b % GROUP; each has a time map of its own,
// and writes the others' events there too. What goes from block to block is handed on in shared memory, in chains.
//
// Follows card.cu and warp.cu. Further constants of engines/cuda/general.py: LEARN, GROUP, WARPS, MAP, MAP_STRIDE, OWN

constexpr Shape FIRST = SHAPE[0], LAST = SHAPE[1];
constexpr int ENTRIES = FIRST.entries, UNITS = FIRST.units, CLASSES = LAST.units, ROW = LAST.row, POLARITIES = FIRST.polarities;
constexpr int COLUMNS = ENTRIES + LEARN;            // of a surface; when learning, a 1 follows, whose product sums the gains
constexpr int KS = (COLUMNS + 7) / 8;               // steps along a surface
constexpr bool HALF = (COLUMNS - 1) % 8 < 4;        // the last of them has 4 columns
constexpr int STRIDE = HALF ? 8 * KS - 4 : 8 * KS + 4;   // an odd number of fours: no bank is asked twice
constexpr int NT = (UNITS + 7) / 8, MT = (UNITS + 15) / 16, LOADS = (ENTRIES + 31) / 32;
constexpr int DOT = 0, FEED = ROW, CLOCK = 2 * ROW, PREVIOUS = CLOCK + 1, TAKEN = CLOCK + 2, CONTROL = CLOCK + 4;   // places in `control`
constexpr int SURFACES = 32 * STRIDE, PER_WARP = MAP + SURFACES + 64 + CONTROL;
constexpr float NEVER = -1e30f;                     // a time
constexpr int UNROLLED_EVENTS = LEARN ? 1 : 8, UNROLLED_STEPS = LEARN ? 2 : KS;   // code that learns is long enough for its cache
constexpr int RESET = 1 << 30;                      // us: the clock of the last layer's map starts again

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

// Values of all classes into shared memory.
__device__ __forceinline__ void keep(float* place, const float (&v)[ROW]) {
  #pragma unroll
  for (int i = 0; i < ROW; i += 4) *(float4*)(place + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
}

// Where on the map the neighbourhood of an event begins, in words.
__device__ __forceinline__ int corner(int entry) {
  constexpr Shape shape = SHAPE[0];
  constexpr int stride[] = MAP_STRIDE;
  int rest = entry / POLARITIES, at = 0;
  #pragma unroll
  for (int d = FIRST.dimensions - 1; d >= 0; d--) { at += rest % shape.field[d] * stride[d]; rest /= shape.field[d]; }
  return at;
}

// Add what a warp summed up to the sums of the batch, and start again. Row and column of a fragment's value: unit and entry.
__device__ __forceinline__ int unit_of(int lane, int mt, int i) { return mt * 16 + (lane >> 2) + (i >> 1) * 8; }
__device__ __forceinline__ int column_of(int lane, int nt, int i) { return nt * 8 + 2 * (lane & 3) + (i & 1); }

__device__ __forceinline__ void give_sum(const Args& a, int network, int unit, int column, float value) {
  if (unit >= UNITS || column >= COLUMNS || value == 0.f) return;
  if (column < ENTRIES) add(a.layer[0].dc + ((long long)network * ENTRIES + column) * FIRST.row + unit, value);
  else add(a.layer[0].dg + network * UNITS + unit, value);
}

__device__ __forceinline__ void give_thresholds(const Args& a, int network, int lane, float (&dth)[NT * 2]) {
  #pragma unroll
  for (int i = 0; i < NT * 2; i++) {
    for (int s = 4; s < 32; s *= 2) dth[i] += __shfl_xor_sync(ALL, dth[i], s);
    const int n = (i >> 1) * 8 + 2 * lane + (i & 1);
    if (lane < 4 && n < UNITS) add(a.layer[0].dth + network * UNITS + n, dth[i]);
    dth[i] = 0.f;
  }
}

__device__ __forceinline__ void give(const Args& a, int network, int lane, float (&sums)[MT][KS][4]) {
  #pragma unroll
  for (int mt = 0; mt < MT; mt++)
    #pragma unroll
    for (int nt = 0; nt < KS; nt++)
      #pragma unroll
      for (int i = 0; i < 4; i++) { give_sum(a, network, unit_of(lane, mt, i), column_of(lane, nt, i), sums[mt][nt][i]); sums[mt][nt][i] = 0.f; }
}

// The same for all warps of the block together, which spares most of the atomic additions.
__device__ __forceinline__ void give_together(const Args& a, int network, int lane, const float (&sums)[MT][KS][4], float* ts, const float* all) {
  __syncwarp();
  #pragma unroll
  for (int mt = 0; mt < MT; mt++)
    #pragma unroll
    for (int nt = 0; nt < KS; nt++)
      #pragma unroll
      for (int i = 0; i < 4; i++) if (column_of(lane, nt, i) < STRIDE) ts[unit_of(lane, mt, i) * STRIDE + column_of(lane, nt, i)] = sums[mt][nt][i];
  __syncthreads();
  for (int i = threadIdx.x; i < MT * 16 * STRIDE; i += blockDim.x) {
    float sum = 0.f;
    for (int w = 0; w < WARPS; w++) sum += all[w * PER_WARP + MAP + i];
    give_sum(a, network, i / STRIDE, i % STRIDE, sum);
  }
}

__device__ __forceinline__ void run(const Args& a) {
  extern __shared__ float4 memory[];
  __shared__ Rates rates[2];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = warp / GROUP, member = warp % GROUP;
  constexpr int groups = WARPS / GROUP;
  const int network = blockIdx.y, batch = *a.batch, from = a.bounds[batch], to = a.bounds[batch + 1];
  float4* parts = memory;                           // centroids as the tensor cores want them: two values, high then low parts
  float* th = (float*)(parts + KS * NT * 32);
  float* cc = th + NT * 8;
  float* near = cc + NT * 8;                        // near(distance) = exp2(distance slope + near[n])
  float* cc_last = near + NT * 8;
  float* own = cc_last + ROW;
  float* map = own + warp * PER_WARP;
  float* ts = map + MAP;
  int2* line = (int2*)(ts + SURFACES);              // of the events of a block
  float* control = own + group * GROUP * PER_WARP + MAP + SURFACES + 64;
  __shared__ Barrier barriers[CHAINS][WARPS];
  if (GROUP > 1) {
    if (threadIdx.x < CHAINS * WARPS)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&barriers[0][0] + threadIdx.x)) : "memory");
    __syncthreads();
  }
  const int following = group * GROUP + (member + 1) % GROUP;   // the warp of the next block
  int forward = 0, backward = 0;                    // blocks that this warp has waited to take over

  // The first recording is looked up early, so that its events come while the rest is made ready.
  const int slots = gridDim.x * groups, slot_here = blockIdx.x * groups + group;
  int q = from + slot_here;
  const long long at = (long long)network * a.recordings + min(q, a.recordings - 1), early = a.start[at];
  if (lane == 0) { fetch(a.stop + at); fetch(a.label + at); }

  if (threadIdx.x < 2) rates[threadIdx.x] = rates_now(a, network, threadIdx.x);
  const float* c = a.layer[0].c + (long long)network * ENTRIES * FIRST.row;
  for (int i = threadIdx.x; i < KS * NT * 32; i += blockDim.x) {
    const int l = i & 31, n = (i >> 5) % NT * 8 + (l >> 2), k = (i >> 5) / NT * 8 + (l & 3);
    const float v0 = k < ENTRIES && n < UNITS ? c[k * FIRST.row + n] : 0.f;
    const float v1 = k + 4 < ENTRIES && n < UNITS ? c[(k + 4) * FIRST.row + n] : 0.f;
    const unsigned h0 = rounded(__float_as_uint(v0)), h1 = rounded(__float_as_uint(v1));
    parts[i] = make_float4(__uint_as_float(h0), __uint_as_float(h1), v0 - __uint_as_float(h0), v1 - __uint_as_float(h1));
  }
  if (lane == 0) { fetch(a.t + early); fetch(a.t + early + member * 32); fetch(a.entry + early + member * 32); }
  __syncthreads();
  const bool centre = rates[0].flags & CENTRE;
  const float slope = centre ? -rates[0].d : rates[0].d;
  for (int n = threadIdx.x; n < NT * 8; n += blockDim.x) {   // units that only fill up a step are far from everything
    const float border = n < UNITS ? a.layer[0].th[network * UNITS + n] : 0.f;
    th[n] = border;
    near[n] = isinf(border) ? __int_as_float(0xff800000) : centre ? 0.f : -border * slope;
    cc[n] = n < UNITS ? a.layer[0].cc[network * UNITS + n] : 1e37f;
  }
  for (int n = threadIdx.x; n < CLASSES; n += blockDim.x) cc_last[n] = a.layer[1].cc[network * CLASSES + n];
  for (int i = lane; i < SURFACES; i += 32) ts[i] = 0.f;
  __syncwarp();
  if (LEARN) ts[lane * STRIDE + ENTRIES] = 1.f;
  __syncthreads();

  const long long slot = (long long)network * slots + slot_here;
  const int g8 = lane >> 2, t4 = lane & 3;
  const unsigned map_at = (unsigned)__cvta_generic_to_shared(map), ts_at = (unsigned)__cvta_generic_to_shared(ts) + lane * 4;
  const unsigned matrix_at = (unsigned)__cvta_generic_to_shared(ts + (((lane >> 3) & 1) * 8 + (lane & 7)) * STRIDE + (lane >> 4) * 4);
  const unsigned upto = ALL >> (31 - lane), before = upto >> 1;
  constexpr Shape shape = SHAPE[0];
  constexpr int stride[] = MAP_STRIDE;
  unsigned step[LOADS];                             // bytes from the corner to the entries that this lane loads
  #pragma unroll
  for (int i = 0; i < LOADS; i++) {
    int rest = lane + 32 * i < ENTRIES ? lane + 32 * i : 0;
    step[i] = rest % POLARITIES * 4; rest /= POLARITIES;
    #pragma unroll
    for (int d = FIRST.dimensions - 1; d >= 0; d--) { step[i] += rest % shape.side[d] * stride[d] * 4; rest /= shape.side[d]; }
  }
  const float fade = rates[0].fade, fade_last = rates[1].fade, feedback = rates[1].feedback;
  int* last_map = a.map + slot * LAST.entries;
  int base = a.base[slot];
  float2* gains = a.gain + slot * a.log_stride;
  unsigned* fired = a.fired + slot * a.log_stride;
  const float* c_last = a.layer[1].c + (long long)network * LAST.entries * ROW;
  Sum* dc_last = a.layer[1].dc + (long long)network * LAST.entries * ROW;

  float dth[NT * 2];                                // sums of this warp: of threshold steps,
  float sums[MT][KS][4];                            // and of gain x surface
  if (LEARN) {
    #pragma unroll
    for (int i = 0; i < NT * 2; i++) dth[i] = 0.f;
    #pragma unroll
    for (int i = 0; i < MT * KS * 4; i++) (&sums[0][0][0])[i] = 0.f;
  }

  while (q < to) {
    const long long out = (long long)network * a.recordings + q;
    const int label = a.label[out];
    const long long first = a.start[out];
    const int events = (int)(a.stop[out] - first), blocks = (events + 31) >> 5;
    const int *entries = a.entry + first, *times = a.t + first;
    const unsigned began = events ? times[0] : 0;   // clocks may wrap: only differences count
    const int length = events ? (int)((unsigned)times[events - 1] - began) + 1 : 0;
    int ahead[GROUP], ahead_t[GROUP];               // events of the blocks from one of this warp to its next, fetched early
    #pragma unroll
    for (int w = 0; w < GROUP; w++) {
      const int i = min((member - GROUP + 1 + w) * 32 + lane, events - 1);
      ahead[w] = i >= 0 ? entries[i] : 0;
      ahead_t[w] = i >= 0 ? times[i] : 0;
    }
    for (int i = lane; i < MAP; i += 32) map[i] = NEVER;
    if (member == 0) for (int i = lane; i < CONTROL; i += 32) { if (i < FEED || i >= CLOCK) control[i] = 0.f; else control[i] = NEVER; }
    if (base > RESET - length) {                    // rare: what the map holds would come back as the future
      if (GROUP > 1) group_barrier(group);
      for (int i = member * 32 + lane; i < LAST.entries; i += GROUP * 32) last_map[i] = -1;
      base = 0;
    }
    __threadfence_block();
    group_barrier(group);
    int votes = 0;

    int entry, time;
    auto build = [&](int block) {
      if (GROUP > 1) {
        #pragma unroll
        for (int w = 0; w < GROUP - 1; w++)
          if (block - GROUP + 1 + w >= 0)
            atomicMax((int*)map + corner(ahead[w]) + OWN + ahead[w] % POLARITIES, __float_as_int((float)(int)((unsigned)ahead_t[w] - began)));
      }
      entry = ahead[GROUP - 1]; time = (int)((unsigned)ahead_t[GROUP - 1] - began);
      #pragma unroll
      for (int w = 0; w < GROUP; w++) {
        const int i = min((block + 1 + w) * 32 + lane, events - 1);
        ahead[w] = entries[i]; ahead_t[w] = times[i];
      }
      line[lane] = make_int2(map_at + corner(entry) * 4 + (entry % POLARITIES << 20), __float_as_int((float)time));
      __syncwarp();
      #pragma unroll UNROLLED_EVENTS
      for (int k = 0; k < 32; k += 4) {             // the event's own time is written before its surface is read
        int2 event[4]; float v[4 * LOADS];
        #pragma unroll
        for (int u = 0; u < 4; u++) event[u] = line[k + u];
        #pragma unroll
        for (int u = 0; u < 4; u++) {
          const unsigned at = POLARITIES > 1 ? event[u].x & 0xfffff : event[u].x, own_p = POLARITIES > 1 ? event[u].x >> 20 : 0;
          store(at + own_p * 4, OWN * 4, __int_as_float(event[u].y));
          __syncwarp();
          #pragma unroll
          for (int i = 0; i < LOADS; i++) v[u * LOADS + i] = load(at + step[i], 0);
          __syncwarp();
        }
        #pragma unroll
        for (int u = 0; u < 4; u++)
          #pragma unroll
          for (int i = 0; i < LOADS; i++) {
            const float value = ex2((v[u * LOADS + i] - __int_as_float(event[u].y)) * fade);
            if (lane + 32 * i < ENTRIES) store(ts_at, ((k + u) * STRIDE + 32 * i) * 4, value);
          }
      }
      __syncwarp();
    };

    if (!LEARN && member < blocks) build(member);
    for (int block = member; block < blocks; block += GROUP) {
      const bool valid = block * 32 + lane < events;
      if (LEARN) { __syncwarp(); build(block); }
      const int place = entry / POLARITIES, now = time;
      const float t = (float)now;

      // squared distances: ||ts||^2 - 2 ts c + ||c||^2; rows are events, columns units
      float dist[2][NT][4], norm[4] = {0.f, 0.f, 0.f, 0.f};
      #pragma unroll
      for (int i = 0; i < 8 * NT; i++) (&dist[0][0][0])[i] = 0.f;
      #pragma unroll UNROLLED_STEPS
      for (int ks = 0; ks < KS; ks++) {
        unsigned top[2][4], rest[2][4];
        #pragma unroll
        for (int mt = 0; mt < 2; mt++) {
          const unsigned at = matrix_at + (mt * 16 * STRIDE + ks * 8) * 4;
          if (HALF && ks == KS - 1) {
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(top[mt][0]), "=r"(top[mt][1]) : "r"(at) : "memory");
            top[mt][2] = top[mt][3] = 0u;
          } else {
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(top[mt][0]), "=r"(top[mt][1]), "=r"(top[mt][2]), "=r"(top[mt][3]) : "r"(at) : "memory");
          }
          #pragma unroll
          for (int i = 0; i < 4; i++) {
            const unsigned v = top[mt][i];
            norm[mt * 2 + (i & 1)] = fmaf(__uint_as_float(v), __uint_as_float(v), norm[mt * 2 + (i & 1)]);
            top[mt][i] = high(v); rest[mt][i] = low(v, top[mt][i]);
          }
        }
        float4 b[NT];
        #pragma unroll
        for (int nt = 0; nt < NT; nt++) b[nt] = parts[(ks * NT + nt) * 32 + lane];
        #pragma unroll
        for (int nt = 0; nt < NT; nt++)
          #pragma unroll
          for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], rest[mt], __float_as_uint(b[nt].x), __float_as_uint(b[nt].y));
        #pragma unroll
        for (int nt = 0; nt < NT; nt++)
          #pragma unroll
          for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], top[mt], __float_as_uint(b[nt].z), __float_as_uint(b[nt].w));
        #pragma unroll
        for (int nt = 0; nt < NT; nt++)
          #pragma unroll
          for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], top[mt], __float_as_uint(b[nt].x), __float_as_uint(b[nt].y));
      }
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        norm[i] += __shfl_xor_sync(ALL, norm[i], 1); norm[i] += __shfl_xor_sync(ALL, norm[i], 2);
        if (LEARN) norm[i] -= 1.f;
      }
      float best[4]; int closest[4];
      #pragma unroll
      for (int i = 0; i < 4; i++) { best[i] = 1e38f; closest[i] = 0; }
      #pragma unroll
      for (int nt = 0; nt < NT; nt++) {
        const float2 length = *(float2*)(cc + nt * 8 + 2 * t4);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
          float* d = &dist[i >> 1][nt][(i & 1) * 2];
          d[0] = fmaf(-2.f, d[0], norm[i] + length.x); d[1] = fmaf(-2.f, d[1], norm[i] + length.y);
          if (d[0] < best[i]) { best[i] = d[0]; closest[i] = nt * 8 + 2 * t4; }
          if (d[1] < best[i]) { best[i] = d[1]; closest[i] = nt * 8 + 2 * t4 + 1; }
        }
      }
      float square; int f;
      closest_of(best, closest, lane, square, f);
      const float distance = sqrtf(fmaxf(square, 0.f));
      const bool pass = valid && distance < th[f];

      // the last layer
      const int e = place * UNITS + f;
      float cs[ROW];
      #pragma unroll
      for (int i = 0; i < ROW / 4; i++) *(float4*)(cs + 4 * i) = __ldg((const float4*)(c_last + (long long)e * ROW) + i);
      const unsigned passing = __ballot_sync(ALL, pass);
      const unsigned same = __match_any_sync(ALL, pass ? e : (1 << 30) | lane), earlier = same & before;
      int then = -1;
      const int clock = base + now;
      if (GROUP == 1) { if (pass && !earlier) then = last_map[e]; }
      else if (pass) fetch(last_map + e);           // only into the cache: the blocks before may still write it
      // while that is fetched: how near each distance is to its threshold, or the next surfaces
      if (LEARN) {
        #pragma unroll
        for (int nt = 0; nt < NT; nt++) {
          const float2 border = *(float2*)(th + nt * 8 + 2 * t4), offset = *(float2*)(near + nt * 8 + 2 * t4);
          #pragma unroll
          for (int i = 0; i < 4; i++)
            #pragma unroll
            for (int j = 0; j < 2; j++) {
              float& d = dist[i >> 1][nt][(i & 1) * 2 + j];
              const float far = root(fmaxf(d, 0.f));
              d = far < (j ? border.y : border.x) ? ex2(fmaf(far, slope, j ? offset.y : offset.x)) : 0.f;
            }
        }
      } else if (block + GROUP < blocks) { __syncwarp(); build(block + GROUP); }
      if (GROUP > 1 && block > 0) await(&barriers[MAPS][warp], forward);
      if (GROUP > 1 && pass && !earlier) then = shared_by_block(last_map + e);
      const int sibling = __shfl_sync(ALL, clock, 31 - __clz(earlier | 1u));
      if (earlier) then = sibling;
      __syncwarp();
      if (pass && !(same & ~upto)) last_map[e] = clock;
      if (GROUP > 1) { __syncwarp(); if (lane == 0 && block + 1 < blocks) hand_on(&barriers[MAPS][following]); }
      const float w = pass ? then < base ? 1.f : 1.f - ex2((float)(then - clock) * fade_last) : 0.f;
      float dot[ROW];
      #pragma unroll
      for (int n = 0; n < ROW; n++) dot[n] = w * cs[n];
      scan<CLASSES>(dot, t, fade_last, lane);
      if (GROUP > 1 && block > 0) await(&barriers[DOTS][warp], forward);
      float fed[ROW];
      {
        float carry[2 * ROW];
        #pragma unroll
        for (int i = 0; i < 2 * ROW / 4; i++) *(float4*)(carry + 4 * i) = *(float4*)(control + 4 * i);
        const float decay = ex2((control[CLOCK] - t) * fade_last);
        #pragma unroll
        for (int n = 0; n < ROW; n++) { if (n < CLASSES) dot[n] = fmaf(decay, carry[DOT + n], dot[n]); fed[n] = carry[FEED + n]; }
      }
      int winner = 0; float least = 1e38f;
      #pragma unroll
      for (int n = 0; n < CLASSES; n++) { const float d = fmaf(-2.f, dot[n], cc_last[n]); if (d < least) { least = d; winner = n; } }
      #pragma unroll
      for (int n = 0; n < CLASSES; n++) {
        const unsigned m = __ballot_sync(ALL, pass && winner == n);
        if (lane == n) votes += __popc(m);
        if (LEARN) { const unsigned so_far = m & upto; const float when = __shfl_sync(ALL, t, 31 - __clz(so_far | 1u)); if (so_far) fed[n] = when; }
      }
      __syncwarp();
      if (lane == 31) {
        keep(control + DOT, dot);
        if (LEARN) keep(control + FEED, fed);
        control[CLOCK] = t;
        if (GROUP > 1 && block + 1 < blocks) hand_on(&barriers[DOTS][following]);
      }
      if (!LEARN) { __syncwarp(); forward += block > 0; continue; }

      float others = 0.f;
      #pragma unroll
      for (int n = 0; n < CLASSES; n++) if (n != winner) others += ex2((fed[n] - t) * feedback);
      float S = 1.f - others * (1.f / (CLASSES > 1 ? CLASSES - 1 : 1));
      if (label >= 0 && winner != label) S = -S;
      const unsigned passed = passing & before;
      float S_before = __shfl_sync(ALL, S, 31 - __clz(passed | 1u));
      const float S_last = __shfl_sync(ALL, S, 31 - __clz(passing | 1u));
      if (GROUP > 1 && block > 0) await(&barriers[SIGNS][warp], forward);
      const float S_carry = control[PREVIOUS];
      if (!passed) S_before = S_carry;
      __syncwarp();
      if (lane == 31) { if (passing) control[PREVIOUS] = S_last; if (GROUP > 1 && block + 1 < blocks) hand_on(&barriers[SIGNS][following]); }
      forward += block > 0;
      const float dS = S - S_before;

      const float gain = pass ? rates[0].alpha * dS + rates[0].beta * S : 0.f, gain_last = pass ? rates[1].alpha * dS + rates[1].beta * S : 0.f;
      const float push = pass ? rates[0].gamma * dS + rates[0].delta * S : 0.f;
      const float back = (rates[0].flags & COMPETITION) && S >= -SLACK && dS >= -SLACK ? -push : 0.f;
      if (valid) { gains[block * 32 + lane] = make_float2(gain_last, w); fired[block * 32 + lane] = (unsigned)e | ((unsigned)winner << 26); }
      line[lane] = make_int2(f, (int)rounded(__float_as_uint(gain)));
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        const int row = (i >> 1) * 16 + (i & 1) * 8 + g8, fires = closest[i] - 2 * t4;
        const float push_row = __shfl_sync(ALL, push, row), back_row = __shfl_sync(ALL, back, row);
        #pragma unroll
        for (int nt = 0; nt < NT; nt++)
          #pragma unroll
          for (int j = 0; j < 2; j++)
            dth[nt * 2 + j] = fmaf(fires == nt * 8 + j ? push_row : back_row, dist[i >> 1][nt][(i & 1) * 2 + j], dth[nt * 2 + j]);
      }
      __syncwarp();
      // sums of gain x surface: rows are units, columns entries, summed over events, which are permuted so that no bank is asked twice
      #pragma unroll 1
      for (int ks = 0; ks < 4; ks++) {
        const int4 pair = *(int4*)(line + ks * 8 + 2 * t4);
        const int one = pair.x - g8, two = pair.z - g8;
        unsigned hot[MT][4];
        #pragma unroll
        for (int mt = 0; mt < MT; mt++) {
          hot[mt][0] = one == mt * 16 ? pair.y : 0; hot[mt][1] = one == mt * 16 + 8 ? pair.y : 0;
          hot[mt][2] = two == mt * 16 ? pair.w : 0; hot[mt][3] = two == mt * 16 + 8 ? pair.w : 0;
        }
        const float* from_ts = ts + (ks * 8 + 2 * t4) * STRIDE + g8;
        #pragma unroll
        for (int nt = 0; nt < KS; nt++) {
          const bool inside = nt < KS - 1 || nt * 8 + g8 < COLUMNS;
          const unsigned b0 = inside ? half_up(__float_as_uint(from_ts[nt * 8])) : 0u;
          const unsigned b1 = inside ? half_up(__float_as_uint(from_ts[nt * 8 + STRIDE])) : 0u;
          #pragma unroll
          for (int mt = 0; mt < MT; mt++) product(sums[mt][nt], hot[mt], b0, b1);
        }
      }
    }

    if (lane < CLASSES && votes) atomicAdd(a.votes + out * CLASSES + lane, votes);
    for (int s = 16; s; s >>= 1) votes += __shfl_xor_sync(ALL, votes, s);
    if (lane < 2 && votes) atomicAdd(a.kept + out * 2 + lane, votes);
    if (LEARN && lane == 0 && votes) atomicAdd(a.output + network, votes);
    base += length;
    if (LEARN) {
      __threadfence_block(); group_barrier(group);
      float total_gain[CLASSES];
      #pragma unroll
      for (int n = 0; n < CLASSES; n++) total_gain[n] = 0.f;
      int block = blocks - 1 - member;              // from the end, every GROUP-th
      float2 next_gain = make_float2(0.f, 0.f); unsigned next_fired = 0, next_t = 0;
      if (block >= 0) { const int i = min(block * 32 + lane, events - 1); next_gain = gains[i]; next_fired = fired[i]; next_t = times[i]; }
      for (; block >= 0; block -= GROUP) {
        const bool valid = block * 32 + lane < events;
        const float t = (float)(int)(next_t - began), g = valid ? next_gain.x : 0.f, w = valid ? next_gain.y : 0.f;
        const int e = next_fired & 0x3ffffff, winner = next_fired >> 26;
        {                                           // fetched for the next step, and always: a branch would wait for it here
          const int i = min(max(block - GROUP, 0) * 32 + lane, events - 1);
          next_gain = gains[i]; next_fired = fired[i]; next_t = times[i];
        }
        float R[ROW];
        #pragma unroll
        for (int n = 0; n < ROW; n++) R[n] = 0.f;
        #pragma unroll
        for (int n = 0; n < CLASSES; n++) { R[n] = winner == n ? g : 0.f; total_gain[n] += R[n]; }
        scan_back<CLASSES>(R, t, fade_last, lane);
        if (block < blocks - 1) {
          if (GROUP > 1) await(&barriers[BACK][warp], backward++);
          float carry[ROW];
          #pragma unroll
          for (int i = 0; i < ROW / 4; i++) *(float4*)(carry + 4 * i) = *(float4*)(control + 4 * i);
          const float decay = ex2((t - control[CLOCK]) * fade_last);
          #pragma unroll
          for (int n = 0; n < CLASSES; n++) R[n] = fmaf(decay, carry[n], R[n]);
        }
        __syncwarp();
        if (lane == 0) {
          keep(control + DOT, R);
          control[CLOCK] = t;
          if (GROUP > 1 && block > 0) hand_on(&barriers[BACK][following]);
        }
        __syncwarp();
        give_entry(dc_last + (long long)e * ROW, R, w);
      }
      give_gains(a.layer[1].dg + network * CLASSES, total_gain, lane);
      if (DETERMINISTIC) { give(a, network, lane, sums); give_thresholds(a, network, lane, dth); }
    }
    if (GROUP == 1) { if (lane == 0) q = from + slots + atomicAdd(a.next + network, 1); q = __shfl_sync(ALL, q, 0); }
    else {
      if (member == 0 && lane == 0) control[TAKEN] = __int_as_float(from + slots + atomicAdd(a.next + network, 1));
      group_barrier(group); q = __float_as_int(control[TAKEN]); group_barrier(group);
    }
  }
  if (member == 0 && lane == 0) a.base[slot] = base;
  if (LEARN && !DETERMINISTIC) { give_thresholds(a, network, lane, dth); give_together(a, network, lane, sums, ts, own); }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) blocks(const __grid_constant__ Args a) { run(a); }
