// The saccade simulator on a GPU: one block of threads per picture, one thread per pixel at a time, through all steps of the path.
// The equations are those of exposure.py. Events come out in no order: their keys are sorted afterwards.

struct Camera { float on, off, spread, jitter, follow, dead, loss, noise_on, noise_off; };   // noise: events per pixel and step

// Every pixel of every picture has random numbers of its own: splitmix64.
struct Random {
  unsigned long long state;
  __device__ unsigned next() {
    unsigned long long z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)((z ^ (z >> 31)) >> 32);
  }
  __device__ float uniform() { return (next() + 0.5f) * 0x1p-32f; }          // never 0; 1 only by rounding
  __device__ float normal() { return sqrtf(fmaxf(-2.f * logf(uniform()), 0.f)) * cospif(2.f * uniform()); }
};

extern "C" __global__ void expose(
    const float* pictures, int height, int width, const float* rows, int samples_down, const float* columns, int samples_across,
    const float2* path, int steps, int fine, float step, int field_width, int field_height, float dark, Camera camera,
    unsigned long long seed, int first, float* scratch, unsigned long long* keys, unsigned long long* count, unsigned long long room) {
  const int picture = blockIdx.x;
  const float* ink = pictures + (long long)picture * height * width;
  float* half = scratch + (long long)picture * samples_down * (width + samples_across);   // rows x ink
  float* light = half + samples_down * width;
  for (int i = threadIdx.x; i < samples_down * width; i += blockDim.x) {
    float sum = 0.f;
    for (int k = 0; k < height; k++) sum += rows[i / width * height + k] * ink[k * width + i % width];
    half[i] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < samples_down * samples_across; i += blockDim.x) {
    float sum = dark + 1.f;
    for (int k = 0; k < width; k++) sum -= half[i / samples_across * width + k] * columns[k * samples_across + i % samples_across];
    light[i] = logf(fmaxf(sum, dark));
  }
  __syncthreads();

  auto emit = [&](int pixel, int polarity, float when) {
    const unsigned long long n = atomicAdd(count, 1ull);
    if (n < room) keys[n] = (unsigned long long)picture << 44 | (unsigned long long)(unsigned)when << 20 | pixel << 1 | polarity;
  };
  for (int pixel = threadIdx.x; pixel < field_width * field_height; pixel += blockDim.x) {
    Random random = {seed ^ ((unsigned long long)(first + picture) << 32 | (unsigned)pixel) * 0xd1342543de82ef95ull};
    random.next();
    const float own = fmaxf(1.f + camera.spread * random.normal(), 0.2f);
    float up = camera.on * own, down = camera.off * own, level = 0.f, rest = 0.f, free = 0.f;
    for (int s = 0; s < steps; s++) {
      const float2 at = path[s];
      const int r0 = (int)at.x, c0 = (int)at.y;
      const float fr = at.x - r0, fc = at.y - c0, began = s * step, ends = began + step;
      const float* here_light = light + (r0 + pixel / field_width * fine) * samples_across + c0 + pixel % field_width * fine;
      const float seen = (1 - fr) * ((1 - fc) * here_light[0] + fc * here_light[1])
                         + fr * ((1 - fc) * here_light[samples_across] + fc * here_light[samples_across + 1]);
      if (s == 0) {
        level = seen;
        rest = seen + (random.uniform() - 0.5f) * fminf(up, down);   // where earlier movements left it
        continue;
      }
      const float old = level, change = camera.follow * (seen - old);
      level = old + change;
      while (free < ends) {
        float when = fmaxf(free, began), goal;
        const float here = old + change * (when - began) / step;
        if (free > began) rest += camera.loss * (here - rest);       // out of its dead time: a share of what changed is lost
        int polarity; bool overdue;
        if (level - rest >= up) { goal = rest + up; polarity = 1; overdue = here - rest >= up; }
        else if (rest - level >= down) { goal = rest - down; polarity = 0; overdue = rest - here >= down; }
        else break;
        if (!overdue) when = began + step * (goal - old) / change;
        emit(pixel, polarity, when);
        rest = goal;
        free = when + fmaxf(camera.dead * (1.f + camera.jitter * random.normal()), 1.f);
        const float factor = own * fmaxf(1.f + camera.jitter * random.normal(), 0.2f);
        up = camera.on * factor; down = camera.off * factor;
      }
    }
    for (int polarity = 0; polarity < 2; polarity++) {               // noise: waiting times of a Poisson process
      const float rate = (polarity ? camera.noise_on : camera.noise_off) / step;
      if (rate > 0.f) for (float when = -logf(random.uniform()) / rate; when < steps * step; when -= logf(random.uniform()) / rate) emit(pixel, polarity, when);
    }
  }
}
