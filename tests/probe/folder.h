// A folder of a test, and a file with samples in it.
#pragma once

#include <gtest/gtest.h>

#include "platforms/probe/samples.h"
#include "tests/traces/small_trace.h"

namespace leanstream::probe {

class SamplesTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("here.samples.csv"); }
  SampleFile file(bool fresh = false) const { return SampleFile(path(), "machine one", fresh); }

 private:
  traces::TemporaryFolder folder_;
};

}  // namespace leanstream::probe
