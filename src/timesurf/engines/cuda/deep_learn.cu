// Sums of a Window layer on the path layer by layer, once S and dS of all layers are known. Follows deep.cu.

constexpr int QUEUE = 96, IN_FLIGHT = 16;           // events that are queued, and that memory is asked for, at a time
constexpr unsigned ASIDE = 1u << 31;                // in the queue: other units' thresholds step back

struct __align__(16) Four { Sum v[4]; };

__device__ __forceinline__ void add_to(Four& sum, const float (&x)[4], float gain) {
  #pragma unroll
  for (int i = 0; i < 4; i++) sum.v[i] += exact(gain * x[i]);
}

template <int k> struct Columns {                   // who sums what: threads take four columns each; in other warps four thresholds each
  using Z = Of<k>;
  static constexpr int FOURS = Z::columns / 4, OTHERS_AT = (FOURS + 31) / 32 * 32;
  static constexpr int THREADS = OTHERS_AT + (2 * Z::nt + 31) / 32 * 32;
  static constexpr int EACH = (QUEUE + THREADS - 1) / THREADS;
  bool column, threshold;
  int units[4];                                     // of thresholds
  __device__ __forceinline__ Columns(int thread) {
    column = thread < FOURS; threshold = thread >= OTHERS_AT && thread < OTHERS_AT + 2 * Z::nt;
    #pragma unroll
    for (int i = 0; i < 4; i++) units[i] = unit_of<k>(threshold ? 4 * (thread - OTHERS_AT) + i : 0);
  }
};

// What S and dS came to, and the unit that fired, of the next events; each thread asks for some.
template <int k> struct Asked {
  using C = Columns<k>;
  float2 judged[C::EACH]; int fired[C::EACH];
  __device__ __forceinline__ void ask(const Args& a, long long at, int base, int end) {
    #pragma unroll
    for (int i = 0; i < C::EACH; i++) {
      const int n = base + i * C::THREADS + threadIdx.x;
      judged[i] = make_float2(0.f, 0.f); fired[i] = 0;
      if (n < min(base + QUEUE, end)) { judged[i] = a.judged[at + n]; fired[i] = a.fired[at + n]; }
    }
  }
  // Those that teach something join the queue: where the event is written, where the sums of its unit are (and ASIDE), gain, push.
  __device__ __forceinline__ void queue(const Rates& rates, int base, int4* line, int& queued, Sum* gains) const {
    #pragma unroll
    for (int i = 0; i < C::EACH; i++) {
      const Step step = step_of(rates, judged[i].x, judged[i].y);
      if (step.gain == 0.f && step.push == 0.f) continue;
      const int where = (base + i * C::THREADS + (int)threadIdx.x) * (Of<k>::line / 4);
      line[atomicAdd(&queued, 1)] = make_int4(where, fired[i] * C::FOURS | (step.back != 0.f ? ASIDE : 0u), __float_as_int(step.gain), __float_as_int(step.push));
      add(gains + fired[i], step.gain);
    }
  }
};

// Two events at a time, so that neither waits for the other's sum.
template <int k>
__device__ __forceinline__ void sum_two(const Columns<k>& of, const int4 (&event)[2], const float (&x)[2][4], Four* sums, Four& dth) {
  using C = Columns<k>;
  if (of.column) {
    Four *one = sums + (event[0].y & ~ASIDE) + threadIdx.x, *two = sums + (event[1].y & ~ASIDE) + threadIdx.x;
    Four first = *one, second = *two;
    add_to(first, x[0], __int_as_float(event[0].z));
    if (((event[0].y ^ event[1].y) & ~ASIDE) == 0) second = first;
    add_to(second, x[1], __int_as_float(event[1].z));
    *one = first; *two = second;
  } else if (of.threshold) {
    #pragma unroll
    for (int i = 0; i < 2; i++) {
      const float push = __int_as_float(event[i].w), back = event[i].y & ASIDE ? -push : 0.f;
      #pragma unroll
      for (int c = 0; c < 4; c++) dth.v[c] += exact(((event[i].y & ~ASIDE) == of.units[c] * C::FOURS ? push : back) * x[i][c]);
    }
  }
}

// All events of the queue, which is filled up to whole batches with what adds nothing.
template <int k>
__device__ __forceinline__ void sum_queue(const Columns<k>& of, const uint2* written, const int4* line, int count, Four* sums, Four& dth) {
  uint2 v[IN_FLIGHT];
  #pragma unroll
  for (int u = 0; u < IN_FLIGHT; u++) v[u] = __ldcs(written + line[u].x);
  for (int j = 0; j < count; j += IN_FLIGHT) {
    #pragma unroll
    for (int u = 0; u < IN_FLIGHT; u += 2) {
      int4 event[2]; float x[2][4];
      #pragma unroll
      for (int i = 0; i < 2; i++) {
        event[i] = line[j + u + i];
        const float2 one = unpack(v[u + i].x), two = unpack(v[u + i].y);
        x[i][0] = one.x; x[i][1] = one.y; x[i][2] = two.x; x[i][3] = two.y;
        v[u + i] = __ldcs(written + line[j + u + i + IN_FLIGHT].x);
      }
      sum_two<k>(of, event, x, sums, dth);
    }
  }
}

// What the block of threads summed, to the sums of the batch.
template <int k>
__device__ __forceinline__ void give_all(const Args& a, const Columns<k>& of, int network, const Four* sums, const Sum* gains, const Four& dth) {
  using Z = Of<k>;
  using C = Columns<k>;
  const int thread = threadIdx.x;
  if (of.threshold)
    for (int i = 0; i < 4; i++) if (of.units[i] < Z::units && dth.v[i] != 0) atomicAdd(a.layer[k].dth + network * Z::units + of.units[i], dth.v[i]);
  for (int i = thread; i < Z::units * Z::columns; i += C::THREADS) {
    const int n = i % Z::units, entry = entry_of<k>(column_of(i / Z::units));
    const Sum sum = sums[n * C::FOURS + i / Z::units / 4].v[i / Z::units % 4];
    if (entry >= 0 && sum != 0) atomicAdd(a.layer[k].dc + ((long long)network * Z::entries + entry) * SHAPE[k].row + n, sum);
  }
  for (int n = thread; n < Z::units; n += C::THREADS) if (gains[n] != 0) atomicAdd(a.layer[k].dg + network * Z::units + n, gains[n]);
}

template <int k>
__device__ __forceinline__ void learn(const Args& a, int chunk) {
  using Z = Of<k>;
  using C = Columns<k>;
  extern __shared__ float4 memory[];
  Four* sums = (Four*)memory;                       // [unit][column]
  Sum* gains = (Sum*)(sums + Z::units * C::FOURS);
  __shared__ int4 line[QUEUE + 2 * IN_FLIGHT];
  __shared__ int queued, item;
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network, thread = threadIdx.x;
  const Rates rates = rates_now(a, network, k);
  for (int i = thread; i < Z::units * (Z::columns + 1); i += C::THREADS) ((Sum*)sums)[i] = 0;
  Four dth = {};
  const C of(thread);
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
    const uint2* written = (const uint2*)(a.lines + work.plane * lines_below<k>() + at * Z::line) + (of.threshold ? C::FOURS + thread - C::OTHERS_AT : min(thread, C::FOURS - 1));
    Asked<k> asked;
    asked.ask(a, k * work.plane + at, begin, end);
    for (int base = begin; base < end; base += QUEUE) {
      __syncthreads();
      if (thread == 0) queued = 0;
      __syncthreads();
      asked.queue(rates, base, line, queued, gains);
      asked.ask(a, k * work.plane + at, base + QUEUE, end);
      __syncthreads();
      if (queued == 0) continue;
      const int count = (queued + IN_FLIGHT - 1) / IN_FLIGHT * IN_FLIGHT;
      for (int i = queued + thread; i < count + IN_FLIGHT; i += C::THREADS) line[i] = make_int4(line[0].x, 0, 0, 0);
      __syncthreads();
      sum_queue<k>(of, written, line, count, sums, dth);
    }
  }
  give_all<k>(a, of, network, sums, gains, dth);
}
