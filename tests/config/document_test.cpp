#include "engine/config/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/random.h"

namespace leanstream::config {
namespace {

std::string errors(std::string_view text) {
  Diagnostics diagnostics;
  parse_document(text, "f", diagnostics);
  return diagnostics.text();
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Document, KeepsPositionsOrderAndDuplicates) {
  Diagnostics diagnostics;
  const Node root = parse_document("b: 1\na:\n  - x\n  - 'y z'\nb: ~\n", "f", diagnostics).root;
  EXPECT_THAT(root.keys(), testing::ElementsAre("b", "a", "b"));
  EXPECT_EQ(root["b"].text(), "1");
  EXPECT_EQ(root["a"].items()[1].position().text(), "f:4:5");
  EXPECT_TRUE(root["a"].items()[1].quoted());
  EXPECT_FALSE(root["a"].items()[0].quoted());
  EXPECT_TRUE(root.entries()[2].value.is_null());
  EXPECT_FALSE(root["c"]);
  EXPECT_FALSE(root["c"]["d"]);
  EXPECT_EQ(diagnostics.text(), "");
}

TEST(Document, AliasesStandForTheirAnchor) {
  Diagnostics diagnostics;
  const Node root = parse_document("a: &x {p: 1}\nb: *x\n", "f", diagnostics).root;
  EXPECT_EQ(root["b"]["p"].text(), "1");
  EXPECT_EQ(root["b"]["p"].position().text(), "f:1:11");
}

TEST(Document, RefusesWhatIsNoPlainYaml) {
  EXPECT_THAT(errors("a: [1, 2\nb: 3\n"), testing::StartsWith("f:2:2: error: no valid YAML: "));
  EXPECT_EQ(errors("a: 1\n---\nb: 2\n"),
            "f:3:1: error: a second YAML document; one file holds one");
  EXPECT_EQ(errors("a: &x [*x]\n"), "f:1:8: error: an alias inside its own anchor");
  EXPECT_THAT(errors("a: *nobody\n"), testing::StartsWith("f:1:4: error: no valid YAML: "));
  EXPECT_EQ(errors("a: !!binary aGk=\n").substr(0, 29), "f:1:4: error: YAML tags like ");
  EXPECT_EQ(errors("? [a]\n: 1\n"), "f:1:3: error: a key must be a word, not a list");
  EXPECT_EQ(errors(""), "");
  EXPECT_EQ(errors("# nothing\n"), "");
}

TEST(Document, RefusesWhatIsNoUtf8) {
  EXPECT_EQ(errors("a: \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\n"), "");
  EXPECT_EQ(errors("\xC3\xA4: 1\nb: \xFF\n"), "f:2:4: error: a text that is no UTF-8");
  for (const char* bytes :
       {"\x80", "\xC3", "\xC1\x81", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_EQ(errors(std::string("a: ") + bytes), "f:1:4: error: a text that is no UTF-8") << bytes;
  }
  EXPECT_EQ(errors("\xFF: 1\n"), "f:1:1: error: a text that is no UTF-8");
  EXPECT_EQ(errors("a: \"\\_\"\n"), "f:1:4: error: a text that is no UTF-8");
}

TEST(Document, RefusesDeepNesting) {
  EXPECT_EQ(errors(repeated("[", 60) + repeated("]", 60)), "");
  EXPECT_EQ(errors(repeated("[", 65) + repeated("]", 65)),
            "f:1:65: error: nested more than 64 deep");
  EXPECT_NE(errors(repeated("[", 1'000'000)), "");
  EXPECT_NE(errors(repeated("{a: ", 500'000)), "");
  EXPECT_NE(errors(repeated("- ", 500'000)), "");
  EXPECT_NE(errors(repeated("? ", 100'000)), "");
  std::string steps;
  for (int i = 0; i < 1000; ++i) steps += std::string(i, ' ') + "a:\n";
  EXPECT_NE(errors(steps), "");
  // Deep only after its aliases are written out.
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) chain += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_THAT(errors(chain), testing::HasSubstr("nested more than 64 deep"));
}

TEST(Document, RefusesAnAliasBomb) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 40; ++i) {
    bomb +=
        fmt::format("a{}: &a{} [{}*a{}]\n", i, i, repeated(fmt::format("*a{}, ", i - 1), 9), i - 1);
  }
  EXPECT_THAT(errors(bomb), testing::HasSubstr("more than 200000 values"));
}

TEST(Document, RefusesTooMuch) {
  EXPECT_EQ(errors(std::string(kMostFileBytes + 1, '#')), "f: error: larger than 4 MiB");
  EXPECT_NE(errors(repeated("- a\n", 300'000)), "");
}

TEST(Document, SurvivesGarbage) {
  RandomStream random(1, "garbage");
  const std::string_view yaml = "{}[]:,-?!&*|>'\"%@`# \n\t\xff\x00\xc3 ab1~<";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const auto length = random.next_below(40);
    for (std::uint64_t j = 0; j < length; ++j) {
      text += i % 2 == 0 ? static_cast<char>(random.next_below(256))
                         : yaml[random.next_below(yaml.size())];
    }
    Diagnostics diagnostics;
    const auto document = parse_document(text, "f", diagnostics);
    EXPECT_EQ(static_cast<bool>(document.root), diagnostics.empty()) << text;
  }
}

TEST(Document, FilesThatCannotBeRead) {
  for (const char* path : {"/nonexistent.yaml", "/", "/dev/zero"}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(load_document(path, diagnostics).root);
    EXPECT_EQ(diagnostics.count(), 1U) << path;
  }
}

TEST(Diagnostics, KeepsABoundedNumber) {
  Diagnostics diagnostics;
  for (int i = 0; i < 1000; ++i) diagnostics.error({nullptr, i + 1, 1}, "wrong");
  EXPECT_EQ(diagnostics.sorted().size(), Diagnostics::kMost);
  EXPECT_TRUE(diagnostics.text().ends_with("… and 800 more"));
}

}  // namespace
}  // namespace leanstream::config
