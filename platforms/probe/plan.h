// What is measured, how often and for how long. Sizes of reads and shapes are such as no model that
// one would validate with has: a figure is not to be judged by what it was fitted to.
#pragma once

#include <string>
#include <vector>

#include "engine/base/types.h"
#include "engine/hardware/storage/processors.h"

namespace leanstream::probe {

// Random weights of this shape: attention and head in q8_0, MLPs in f16.
struct Shape {
  std::int32_t hidden = 0;
  std::int32_t ffn = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t vocab = 0;
  std::int32_t layers = 0;  // as many as make the weights larger than the caches
  std::int32_t block_neurons = 0;

  std::string text() const;  // "768 x 2304"
};

struct Plan {
  int repetitions = 3;              // of everything, in random order
  hardware::Processors processors;  // of threads, as in a run
  // Storage.
  std::vector<std::string> files;  // to read from, by turns; none: a temporary one
  Bytes size_mib = 1024;
  std::string engine = "auto";
  std::vector<Bytes> read_bytes;
  std::int32_t depth = 32;           // requests at once, at most
  std::vector<std::int32_t> bursts;  // requests handed over together to an idle disk
  double read_seconds = 1;
  double pause_seconds = 3;  // of the smallest reads, kept at the depth
  // As a check, not for the fit: requests of one or several pieces by chance.
  Bytes mix_bytes = Bytes{20} << 10;
  std::vector<std::int32_t> mix_pieces{1, 8};
  std::vector<std::int32_t> mix_bursts;
  // Requests that fill many places in memory, as many together.
  Bytes piece_bytes = Bytes{12} << 10;
  std::int32_t pieces = 64;
  // Requests of two neighbours each, as two requests that the system may merge.
  std::int32_t merged = 2;
  // Memory.
  Bytes memory_bytes = Bytes{512} << 20;
  double memory_seconds = 1;
  // Accelerator.
  int threads = 1;
  std::vector<Shape> shapes;  // each with blocks of two sizes
  std::vector<int> segments;
  std::vector<double> shares;  // of a layer's blocks
  int layer_samples = 24;      // of one measurement, at least
  std::int32_t prompt = 32;    // tokens at once
  // Waiting.
  std::vector<TimeNs> idle_ns{25'000, 50'000, 100'000, 200'000, 500'000, 1'000'000, 2'000'000};
  std::vector<TimeNs> start_idle_ns{200'000, 500'000, 1'000'000, 2'000'000};  // of an accelerator
  int wakes = 100;                                                            // of one measurement
  // Predictions.
  int predictions = 20;  // of one measurement

  std::string files_text() const;
  // What makes samples comparable: all but how many there are.
  std::string text() const;
};

Plan full_plan();
Plan quick_plan();  // within two minutes
Plan tiny_plan();   // within seconds; only to try the program

}  // namespace leanstream::probe
