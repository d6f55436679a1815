// The path of one Full layer alone, weights that stay for the whole batch: what learns above layers that rest.
//
// A warp takes a recording, 32 events at a time, lane = event:
//   forwards    dot products of all units by a scan over the lanes, dot_n = dot_n fade + w c_n[e],  w = 1 - v_old; which unit fires; its gain by
//               S and dS, or gains of all units by the delta rule; or evidence for classes, where nothing is learned;
//   backwards   sums of the layer by a reverse scan: dC[n, e] += w_k R_n(k),  R_n(k) = sum over later outputs i: g_n(i) exp(-(t_i - t_k) / tau).
// Units come SOME at a time, so there may be many of them; what goes from event to event lies in shared memory.
//
// Follows card.cu, step.cu and warp.cu. Further constants of scan.py: LEARN, BY_DELTA, EVIDENCE, SOME, WARPS, BESIDE

constexpr Shape LAST = SHAPE[0];
constexpr int UNITS = LAST.units, ROW = LAST.row;
constexpr int RESET = 1 << 30;                      // us: the clock of the map starts again
constexpr int NEVER = -(1 << 30);                   // when a unit fired last
constexpr float FAR = 3e38f;

struct Warp {                                       // in shared memory
  float away[ROW][32];                              // |c|^2 - 2 c ts of every unit and event: squared distances, but for |ts|^2, which is the same for all
  float sums[LEARN ? UNITS : EVIDENCE ? CLASSES : 1][32];   // of gains of units, or of evidence for classes
  float carry[ROW];                                 // dot products after the block before; backwards: R
  int fed[UNITS], votes[CLASSES];                   // when each unit fired last; what it voted
};

struct Recording {
  long long out;                                    // its number among those of all networks
  int label, events, length;                        // length: us
  const int *entries, *times;
  unsigned began;                                   // clocks may wrap: only differences count
  __device__ __forceinline__ Recording(const Args& a, int network, int q) {
    out = (long long)network * a.recordings + q;
    const long long first = a.start[out];
    label = a.label[out]; events = (int)(a.stop[out] - first);
    entries = a.entry + first; times = a.t + first;
    began = events ? times[0] : 0;
    length = events ? (int)((unsigned)times[events - 1] - began) + 1 : 0;
  }
  __device__ __forceinline__ int since(int time) const { return (int)((unsigned)time - began); }
};

struct Log { float2* gain; unsigned* unit; float* gains; };   // {gain, w} of every event, and its unit; of the delta rule, [32 events][unit][event]

// ---------------------------------------------------------------------- scans

// How much is left from a lane to this one, 1, 2, 4, 8 and 16 lanes away: before this one or, backwards, after it.
template <bool back> struct Fades {
  float of[5];
  __device__ __forceinline__ Fades(int t, float fade, int lane) {
    #pragma unroll
    for (int i = 0; i < 5; i++) {
      const int s = 1 << i, other = back ? __shfl_down_sync(ALL, t, s) : __shfl_up_sync(ALL, t, s);
      of[i] = (back ? lane + s < 32 : lane >= s) ? ex2((float)(back ? t - other : other - t) * fade) : 0.f;
    }
  }
  template <int n>
  __device__ __forceinline__ void scan(float (&v)[n]) const {
    #pragma unroll
    for (int i = 0; i < 5; i++)
      #pragma unroll
      for (int k = 0; k < n; k++) v[k] = fmaf(of[i], back ? __shfl_down_sync(ALL, v[k], 1 << i) : __shfl_up_sync(ALL, v[k], 1 << i), v[k]);
  }
};

// ---------------------------------------------------------------------- forwards

// Distances of all units by a scan, and the unit that fires.
__device__ __forceinline__ int decide(Warp& warp, const float* c, const float* cc, int e, float w, int t, int t_carry, float fade, int lane, float& least) {
  const Fades<false> fades(t, fade, lane);
  const float decay = ex2((float)(t_carry - t) * fade);
  int winner = 0;
  least = FAR;
  #pragma unroll (ROW / SOME <= 2 ? ROW / SOME : 1)
  for (int from = 0; from < ROW; from += SOME) {
    float dot[SOME];
    #pragma unroll
    for (int i = 0; i < SOME / 4; i++) {
      const float4 four = __ldg((const float4*)(c + (long long)e * ROW + from) + i);
      dot[4 * i] = w * four.x; dot[4 * i + 1] = w * four.y; dot[4 * i + 2] = w * four.z; dot[4 * i + 3] = w * four.w;
    }
    fades.scan(dot);
    #pragma unroll
    for (int n = 0; n < SOME; n++) {
      dot[n] = fmaf(decay, warp.carry[from + n], dot[n]);
      const float d = fmaf(-2.f, dot[n], cc[from + n]);
      warp.away[from + n][lane] = d;
      if (d < least) { least = d; winner = from + n; }
    }
    __syncwarp();
    if (lane == 31)
      #pragma unroll
      for (int n = 0; n < SOME; n++) warp.carry[from + n] = dot[n];
  }
  __syncwarp();
  return winner;
}

struct Fed { float sum, S; int t; };                // from block to block: the sum of all units' feedback, S, time

// The gain of the unit that fired, by S and dS. The sum of all units' feedback decays, and the unit's own becomes 1.
__device__ __forceinline__ float gain_of(Warp& warp, const Lane& l, const Rates& rates, int label, int winner, int t, int last, Fed& fed, int lane) {
  const unsigned same = l.same(winner), earlier = same & l.before;
  const int sibling = __shfl_sync(ALL, t, last_of(earlier)), then = earlier ? sibling : warp.fed[winner];
  float sum[1] = {l.valid ? 1.f - (then == NEVER ? 0.f : ex2((float)(then - t) * rates.feedback)) : 0.f};
  Fades<false>(t, rates.feedback, lane).scan(sum);
  sum[0] = fmaf(ex2((float)(fed.t - t) * rates.feedback), fed.sum, sum[0]);
  __syncwarp();
  if (l.valid && !(same & ~l.upto)) warp.fed[winner] = t;
  const float S = separability(sign_of(label, winner), (sum[0] - 1.f) * (1.f / others_of<UNITS>()));
  float S_before = __shfl_up_sync(ALL, S, 1);
  if (lane == 0) S_before = fed.S;
  fed = {__shfl_sync(ALL, sum[0], 31), __shfl_sync(ALL, S, last), __shfl_sync(ALL, t, 31)};
  return step_of(rates, S, S - S_before).gain;
}

// Sum of the weights exp(-temperature (d - least)) of some units.
__device__ __forceinline__ float weights_of(const Warp& warp, int begin, int end, float least, float temperature, int lane) {
  float sum = 0.f;
  #pragma unroll 8
  for (int n = begin; n < end; n++) sum += ex2((least - warp.away[n][lane]) * temperature);
  return sum;
}

// Gains of all units by the delta rule: alpha (r_n - q_n), r_n the share among the units of the right class; logged, and summed.
__device__ __forceinline__ void gains_of(Warp& warp, const Rates& rates, int label, float least, bool valid, float* gains, int lane) {
  const int begin = label * PER_CLASS, end = begin + PER_CLASS;
  float near = FAR;
  for (int n = begin; n < end; n++) near = fminf(near, warp.away[n][lane]);
  const float alpha = valid ? rates.alpha : 0.f;
  const float all = alpha / weights_of(warp, 0, UNITS, least, rates.temperature, lane);
  const float right = alpha / weights_of(warp, begin, end, near, rates.temperature, lane);
  #pragma unroll 8
  for (int n = 0; n < UNITS; n++) {
    const float d = warp.away[n][lane];
    float gain = -all * ex2((least - d) * rates.temperature);
    if (begin <= n && n < end) gain = fmaf(right, ex2((near - d) * rates.temperature), gain);
    warp.sums[n][lane] += gain;
    gains[n * 32 + lane] = gain;
  }
}

// Evidence of an event for every class: log(share of the class + DOUBT).
__device__ __forceinline__ void weigh(Warp& warp, float least, float temperature, int lane) {
  const float all = weights_of(warp, 0, UNITS, least, temperature, lane);
  for (int n = 0; n < CLASSES; n++)
    warp.sums[n][lane] += logf(weights_of(warp, n * PER_CLASS, (n + 1) * PER_CLASS, least, temperature, lane) / all + DOUBT);
}

__device__ __forceinline__ void run_events(const Args& a, Warp& warp, const Recording& of, const Rates& rates, const float* c, const float* cc, int* map, const Log& log, Lane& l, bool delta, int lane) {
  int e_ahead = of.entries[min(lane, of.events - 1)], t_ahead = of.times[min(lane, of.events - 1)], t_carry = 0;
  Fed fed = {0.f, 0.f, 0};
  for (int base = 0; base < of.events; base += 32) {
    const int e = e_ahead, t = of.since(t_ahead), last = min(31, of.events - 1 - base);
    l.e = e; l.valid = lane <= last; l.clock = l.base + t;
    const int then = last_time(map, l);
    const float w = l.valid ? added(then, l.base, l.clock, rates.fade) : 0.f;
    const int i = min(base + 32 + lane, of.events - 1);   // fetched for the next step
    e_ahead = of.entries[i]; t_ahead = of.times[i];
    float least;
    const int winner = decide(warp, c, cc, e, w, t, t_carry, rates.fade, lane, least);
    t_carry = __shfl_sync(ALL, t, 31);
    fetch(map + e_ahead);
    for (int n = 0; n < ROW; n += 32) fetch(c + (long long)e_ahead * ROW + n);
    if (l.valid) atomicAdd(warp.votes + class_of(winner), 1);
    if (LEARN) {
      float gain = 0.f;
      if (BY_DELTA && delta) gains_of(warp, rates, of.label, least, l.valid, log.gains + (long long)base * UNITS, lane);
      else {
        gain = gain_of(warp, l, rates, of.label, winner, t, last, fed, lane);
        if (l.valid) { warp.sums[winner][lane] += gain; log.unit[base + lane] = winner; }
      }
      if (l.valid) log.gain[base + lane] = make_float2(gain, w);
    } else if (EVIDENCE && l.valid) weigh(warp, least, rates.temperature, lane);
    __syncwarp();
  }
}

// ---------------------------------------------------------------------- backwards

struct Logged { float2 gain; int unit, e, t; };

__device__ __forceinline__ Logged logged_at(const Recording& of, const Log& log, int i, bool delta) {
  if (i >= of.events) return {make_float2(0.f, 0.f), 0, of.entries[of.events - 1], of.times[of.events - 1]};
  return {log.gain[i], BY_DELTA && delta ? 0 : (int)log.unit[i], of.entries[i], of.times[i]};
}

__device__ __forceinline__ void sum_backwards(Warp& warp, const Recording& of, const Log& log, Sum* dc, float fade, bool delta, int lane) {
  for (int n = lane; n < ROW; n += 32) warp.carry[n] = 0.f;
  __syncwarp();
  int base = (of.events - 1) / 32 * 32, t_carry = of.length - 1;
  for (Logged ahead = logged_at(of, log, base + lane, delta); base >= 0; base -= 32) {
    const Logged now = ahead;
    const int t = of.since(now.t);
    ahead = logged_at(of, log, max(base - 32, 0) + lane, delta);   // fetched for the next step
    const float* gains = log.gains + (long long)base * UNITS;
    if (BY_DELTA && delta && base) for (int n = lane; n < UNITS; n += 32) fetch(gains - (n + 1) * 32);
    const Fades<true> fades(t, fade, lane);
    const float decay = ex2((float)(t - t_carry) * fade);
    t_carry = __shfl_sync(ALL, t, 0);
    #pragma unroll (ROW / SOME <= 2 ? ROW / SOME : 1)
    for (int from = 0; from < ROW; from += SOME) {
      float R[SOME];
      #pragma unroll
      for (int n = 0; n < SOME; n++) {
        R[n] = from + n == now.unit ? now.gain.x : 0.f;
        if (BY_DELTA && delta && from + n < UNITS) R[n] = gains[(from + n) * 32 + lane];
      }
      fades.scan(R);
      #pragma unroll
      for (int n = 0; n < SOME; n++) R[n] = fmaf(decay, warp.carry[from + n], R[n]);
      __syncwarp();
      if (lane == 0)
        #pragma unroll
        for (int n = 0; n < SOME; n++) warp.carry[from + n] = R[n];
      give_entry(dc + (long long)now.e * ROW + from, R, now.gain.y);
    }
    __syncwarp();
  }
}

// ---------------------------------------------------------------------- a recording

template <typename Number> __device__ __forceinline__ Number warp_sum(Number v) { for (int s = 16; s; s >>= 1) v += __shfl_xor_sync(ALL, v, s); return v; }

// Everything as it is before the first event; the clock of the map starts again where what it holds would come back as the future.
__device__ __forceinline__ void clear(Warp& warp, int* map, int length, Lane& l, int lane) {
  for (int n = lane; n < ROW; n += 32) warp.carry[n] = 0.f;
  for (int n = lane; n < UNITS; n += 32) warp.fed[n] = NEVER;
  for (int n = lane; n < CLASSES; n += 32) warp.votes[n] = 0;
  if (LEARN || EVIDENCE) for (int n = 0; n < (LEARN ? UNITS : CLASSES); n++) warp.sums[n][lane] = 0.f;
  if (l.base > RESET - length) { for (int i = lane; i < LAST.entries; i += 32) map[i] = -1; l.base = 0; }
  __syncwarp();
}

__device__ __forceinline__ void write_counts(const Args& a, const Warp& warp, const Recording& of, int network, int lane) {
  for (int n = lane; n < CLASSES; n += 32) a.votes[of.out * CLASSES + n] = warp.votes[n];
  if (lane == 0) { a.kept[of.out] = of.events; if (LEARN) atomicAdd(a.output + network, of.events); }
  if (LEARN)
    for (int n = 0; n < UNITS; n++) { const float gain = warp_sum(warp.sums[n][lane]); if (lane == 0) add(a.layer[0].dg + network * UNITS + n, gain); }
  else if (EVIDENCE)
    for (int n = 0; n < CLASSES; n++) { const double sum = warp_sum((double)warp.sums[n][lane]); if (lane == 0) a.evidence[of.out * CLASSES + n] = sum; }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BESIDE) scan_events(const __grid_constant__ Args a) {
  extern __shared__ float4 memory[];
  const int lane = threadIdx.x & 31, network = blockIdx.y, batch = *a.batch, from = a.bounds[batch], to = a.bounds[batch + 1];
  float* cc = (float*)memory;                       // squared lengths of centroids; units that only fill up a row are far from everything
  Warp& warp = ((Warp*)(cc + ROW))[threadIdx.x >> 5];
  for (int n = threadIdx.x; n < ROW; n += blockDim.x) cc[n] = n < UNITS ? a.layer[0].cc[network * UNITS + n] : FAR;
  __syncthreads();
  const Rates rates = rates_now(a, network, 0);
  const long long slot = ((long long)network * gridDim.x + blockIdx.x) * WARPS + (threadIdx.x >> 5);
  int* map = a.map + slot * LAST.entries;
  const Log log = {a.gain + slot * a.log_stride, a.fired + slot * a.log_stride, a.log_gain + slot * a.log_stride * UNITS};
  const float* c = a.layer[0].c + (long long)network * LAST.entries * ROW;
  Sum* dc = a.layer[0].dc + (long long)network * LAST.entries * ROW;
  Lane l; l.base = a.base[slot]; l.upto = ALL >> (31 - lane); l.before = l.upto >> 1;
  while (true) {
    int q = 0;
    if (lane == 0) q = from + atomicAdd(a.next + network, 1);
    q = __shfl_sync(ALL, q, 0);
    if (q >= to) break;
    const Recording of(a, network, q);
    if (of.events == 0) continue;
    const bool delta = of.label >= 0 && (rates.flags & DELTA);
    clear(warp, map, of.length, l, lane);
    run_events(a, warp, of, rates, c, cc, map, log, l, delta, lane);
    l.base += of.length;
    write_counts(a, warp, of, network, lane);
    if (LEARN) { __syncwarp(); sum_backwards(warp, of, log, dc, rates.fade, delta, lane); }
    __syncwarp();
  }
  if (lane == 0) a.base[slot] = l.base;
}
