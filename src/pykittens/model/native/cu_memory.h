/* The memory side of a compute unit: LDS, the vector L1 and this unit's share of what lies behind it.
 *
 * All queues are first come, first served, so what an access will take is known when it is issued: every resource is the
 * time from which it is free. */
#ifndef PYKITTENS_CU_MEMORY_H
#define PYKITTENS_CU_MEMORY_H

#include "cu.h"

enum { QUEUE = 64, FLIGHT = 1024 };

typedef struct Memory {
  uint64_t lds_free, bus_free[2];
  uint64_t lds_end[2][QUEUE]; /* when entries of a pair's queue leave it */
  uint32_t lds_count[2];
  uint64_t returned[SIMDS][QUEUE]; /* when data of a SIMD's last LDS reads is there */
  uint32_t returns[SIMDS];
  uint64_t l1_free;
  uint64_t l1_start[QUEUE];
  uint32_t l1_count;
  uint64_t back[FLIGHT];      /* loads under way: when their data is there, and how many bytes */
  uint32_t bytes[FLIGHT], first, count, in_flight;
  uint64_t arrival[FLIGHT];   /* data on the way into LDS: when it comes, and the passes it will take */
  uint32_t arrival_passes[FLIGHT], first_arrival, arrivals;
  uint64_t l2_free, llc_free, hbm_free, write_free; /* in 1/256 clk */
  uint64_t dirty_free; /* when all that was stored will be in the HBM, in 1/256 clk */
  uint32_t pick_l2, pick_llc;
} Memory;

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Data that has come for LDS by now takes its passes. */
static void arrive(Memory *m, uint64_t now, Work *work) {
  while (m->arrivals && m->arrival[m->first_arrival] <= now) {
    uint32_t passes = m->arrival_passes[m->first_arrival];
    m->lds_free = later(m->lds_free, m->arrival[m->first_arrival]) + passes;
    work->lds_busy += passes;
    m->first_arrival = (m->first_arrival + 1) % FLIGHT, m->arrivals--;
  }
}

/* When the pair's queue has room. */
static inline uint64_t lds_room(const Memory *m, const Machine *c, uint32_t pair) {
  return m->lds_count[pair] < c->lds_queue ? 0 : m->lds_end[pair][(m->lds_count[pair] - c->lds_queue) % QUEUE];
}

/* Serves an LDS instruction issued now; gives when its data has passed the bus. */
static uint64_t serve_lds(Memory *m, const TimingOp *op, const Cost *cost, uint32_t pair, uint64_t now, Work *work) {
  arrive(m, now, work);
  uint64_t start = later(now, m->lds_free);
  m->lds_free = start + cost->passes;
  uint64_t moves = op->flags & GIVES_DATA ? now : start; /* what is written goes over the bus first */
  uint64_t end = later(later(m->bus_free[pair], moves) + op->bus_clk, m->lds_free);
  m->bus_free[pair] = end;
  m->lds_end[pair][m->lds_count[pair]++ % QUEUE] = op->flags & GIVES_DATA ? end : end + op->latency; /* with its data */
  work->lds_busy += cost->passes, work->bus_busy += op->bus_clk;
  return end;
}

/* Data of a SIMD's LDS read comes then. */
static inline void give_back(Memory *m, uint32_t simd, uint64_t done) { m->returned[simd][m->returns[simd]++ % QUEUE] = done; }

/* The first slot from then on in which no data of LDS reads comes to the SIMD's registers: it takes the slot before it is
 * there, and leaves too few ports for three sources. */
static inline uint64_t registers_free(const Memory *m, uint32_t simd, uint64_t at) {
  uint32_t count = m->returns[simd];
  uint32_t first = count;
  while (first && first + QUEUE > count && m->returned[simd][(first - 1) % QUEUE] > at) first--;
  for (uint32_t i = first; i < count; i++) {
    uint64_t done = m->returned[simd][i % QUEUE];
    if (done < at + 2 * QUAD && at < done) at = (done + QUAD - 1) / QUAD * QUAD;
  }
  return at;
}

static inline uint64_t vmem_room(const Memory *m, const Machine *c) {
  return m->l1_count < c->vmem_queue ? 0 : m->l1_start[(m->l1_count - c->vmem_queue) % QUEUE];
}

/* The next of an even spread of hits and misses: true `share` of 65536 times, as evenly as can be. */
static inline int spread(uint32_t *state, uint32_t share) {
  *state += share;
  int yes = *state >= 65536;
  *state -= yes ? 65536 : 0;
  return yes;
}

/* Takes lines from something shared, where this unit's part is one line in `line_clk` (1/256 clk); gives the clk when they
 * are through: the units are in step, so what one leaves unused now does not help it later. */
static inline uint64_t through(uint64_t *free, uint64_t now, uint32_t lines, uint32_t line_clk) {
  *free = later(*free, now * 256) + (uint64_t)lines * line_clk;
  return later(now, (*free + 255) / 256);
}

/* When the L1 takes it up: in order, and only with room for its data. */
static uint64_t take_up(Memory *m, const Machine *c, const Cost *cost, uint64_t now, uint32_t bytes) {
  uint64_t start = later(now + QUAD, m->l1_free);
  while (m->count && (m->back[m->first] <= start || m->in_flight + bytes > c->l1_in_flight || m->count == FLIGHT)) {
    start = later(start, m->back[m->first]);
    m->in_flight -= m->bytes[m->first];
    m->first = (m->first + 1) % FLIGHT, m->count--;
  }
  m->l1_start[m->l1_count++ % QUEUE] = start;
  m->l1_free = start + cost->l1_clk;
  return start;
}

/* Serves a load issued now; gives when its data is there. */
static uint64_t serve_load(Memory *m, const Machine *c, const TimingOp *op, const Cost *cost, uint64_t now, Work *work) {
  uint32_t lines = cost->lines, bytes = lines * 128;
  uint64_t start = take_up(m, c, cost, now, bytes), done = start + cost->l1_clk;
  work->l1_busy += cost->l1_clk;
  if (!lines) {
    done += c->l1_latency;
  } else {
    done = later(done, through(&m->l2_free, start, lines, c->l2_line)), work->l2_lines += lines;
    if (spread(&m->pick_l2, c->l2_miss)) {
      done = later(done, through(&m->llc_free, start, lines, c->llc_line)), work->llc_lines += lines;
      if (spread(&m->pick_llc, c->llc_miss)) {
        done = later(done, through(&m->hbm_free, start, lines, c->hbm_line)), work->hbm_lines += lines;
        if (m->dirty_free > start * 256) m->dirty_free += (uint64_t)lines * c->hbm_line; /* loads go before writes */
      }
    }
    done += c->load_latency;
  }
  uint32_t last = (m->first + m->count + FLIGHT - 1) % FLIGHT;
  if (m->count) done = later(done, m->back[last]); /* the L1 returns in order */
  uint32_t place = (m->first + m->count++) % FLIGHT;
  m->back[place] = done, m->bytes[place] = bytes, m->in_flight += bytes;
  if (op->flags & TO_LDS && m->arrivals < FLIGHT) {
    uint32_t slot = (m->first_arrival + m->arrivals++) % FLIGHT;
    m->arrival[slot] = done, m->arrival_passes[slot] = cost->passes;
    done += cost->passes;
  }
  return done;
}

static uint64_t serve_store(Memory *m, const Machine *c, const Cost *cost, uint64_t now, Work *work) {
  uint64_t start = later(now + QUAD, m->l1_free), written = m->dirty_free / 256;
  if (cost->passes && written > c->dirty_clk) start = later(start, written - c->dirty_clk); /* the L2 is full of them */
  m->l1_start[m->l1_count++ % QUEUE] = start;
  m->l1_free = start + cost->l1_clk;
  work->l1_busy += cost->l1_clk, work->write_lines += cost->lines, work->hbm_lines += cost->passes;
  through(&m->dirty_free, start, cost->passes, c->hbm_write_line);
  return through(&m->write_free, start, cost->lines, c->write_line) + c->l2_latency;
}

#endif
