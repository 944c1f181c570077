#include "engine/config/units.h"

#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/config/memory_budget.h"

namespace leanstream::config {
namespace {

double value(std::string_view text, Dimension dimension) {
  std::string error;
  const auto parsed = parse_quantity(text, dimension, error);
  EXPECT_TRUE(parsed) << error;
  return parsed.value_or(-1);
}

std::string error(std::string_view text, Dimension dimension) {
  std::string message;
  EXPECT_FALSE(parse_quantity(text, dimension, message)) << text;
  return message;
}

TEST(Units, AreDecimalOrBinaryAsWritten) {
  EXPECT_EQ(value("2.5 GB/s", Dimension::bandwidth), 2.5e9);
  EXPECT_EQ(value("1 GiB", Dimension::bytes), 1073741824.0);
  EXPECT_EQ(value("48KiB", Dimension::bytes), 49152.0);
  EXPECT_EQ(value("92 us", Dimension::time), 92e3);
  EXPECT_EQ(value("92 µs", Dimension::time), 92e3);
  EXPECT_EQ(value("47 kIOPS", Dimension::rate), 47e3);
  EXPECT_EQ(value("3 /s", Dimension::rate), 3.0);
  EXPECT_EQ(value("2.9 TFLOPS", Dimension::compute), 2.9e12);
  EXPECT_EQ(value("7%", Dimension::ratio), 0.07);
  EXPECT_EQ(value("0.25", Dimension::ratio), 0.25);
  EXPECT_EQ(value("60 pJ/B", Dimension::energy_per_byte), 60e-12);
  EXPECT_EQ(value("-10 C", Dimension::temperature), -10.0);
  EXPECT_EQ(value("0", Dimension::time), 0.0);
}

TEST(Units, SaysWhatIsWrong) {
  EXPECT_EQ(error("7 Gb/s", Dimension::bandwidth).substr(0, 38),
            "'Gb/s' is not the unit of a bandwidth;");
  EXPECT_TRUE(error("7 gb/s", Dimension::bandwidth).ends_with("did you mean 'GB/s'?"));
  EXPECT_EQ(error("7", Dimension::power), "'7' has no unit; a power needs one of W, mW, kW");
  EXPECT_EQ(error("1e308 h", Dimension::time), "'1e308 h' is too large");
  for (const char* text : {"", " ", "-", "nan s", "inf s", "1  s", "1 s s", "+1 s", "0x10 s"}) {
    EXPECT_NE(error(text, Dimension::time), "") << text;
  }
}

TEST(Units, FormatsBriefly) {
  EXPECT_EQ(format_quantity(29375, Dimension::time), "29.375 us");
  EXPECT_EQ(format_quantity(1.41e6, Dimension::time), "1.41 ms");
  EXPECT_EQ(format_quantity(49152, Dimension::bytes), "48 KiB");
  EXPECT_EQ(format_quantity(7.87e9, Dimension::bandwidth), "7.87 GB/s");
  EXPECT_EQ(format_quantity(47e3, Dimension::rate), "47 kIOPS");
  EXPECT_EQ(format_quantity(0.07, Dimension::ratio), "7%");
  EXPECT_EQ(format_quantity(0, Dimension::time), "0 ns");
}

TEST(Units, EveryValueReadsBackExactly) {
  RandomStream random(1, "units");
  for (const auto dimension :
       {Dimension::none, Dimension::time, Dimension::bytes, Dimension::bandwidth, Dimension::ratio,
        Dimension::energy_per_byte, Dimension::frequency}) {
    for (int i = 0; i < 2000; ++i) {
      double x = std::ldexp(random.next_unit(), static_cast<int>(random.next_below(80)) - 20);
      if (i % 2 == 0) x = std::round(x * 1000) / 1000;
      EXPECT_EQ(value(format_quantity(x, dimension), dimension), x);
    }
  }
}

TEST(MemoryBudget, HasThreeForms) {
  std::string message;
  const auto bytes = parse_memory_budget("2.5 GB", message);
  const auto mlp = parse_memory_budget("25% of mlp", message);
  const auto model = parse_memory_budget("0.2 of model", message);
  ASSERT_TRUE(bytes && mlp && model) << message;
  EXPECT_EQ(bytes->resolve(8e9, 10e9), 2'500'000'000U);
  EXPECT_EQ(mlp->resolve(8e9, 10e9), 2'000'000'000U);
  EXPECT_EQ(model->resolve(8e9, 10e9), 2'000'000'000U);
  EXPECT_EQ(bytes->text(), "2.5 GB");
  EXPECT_EQ(mlp->text(), "25% of mlp");
  EXPECT_EQ(model->text(), "20% of model");
  for (const char* text : {"", "0 B", "-1 GB", "0% of mlp", "101% of mlp", "25% of", "mlp", "25%",
                           "nan% of mlp", "1e300 TB", "25% of mlp of model"}) {
    EXPECT_FALSE(parse_memory_budget(text, message)) << text;
  }
}

}  // namespace
}  // namespace leanstream::config
