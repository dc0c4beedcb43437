// Plan files: what is written is read, and whatever else the bytes are, the reader gives a PlanError.

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/verify/ReadVerified.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/model/Dump.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

namespace epl::runtime::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

template <typename Action> std::string errorOf(const Action &action) {
  try {
    action();
  } catch (const PlanError &error) {
    return error.what();
  }
  return "no error";
}

std::string parseError(std::span<const uint8_t> bytes) {
  return errorOf([&] { parsePlan(bytes, "p.eplan"); });
}

/// The plan in the bytes of a plan file, as a FlatBuffer that can be changed.
std::vector<uint8_t> contentOf(const std::vector<uint8_t> &bytes) {
  const auto &content = *plan::GetSizePrefixedPlanFile(bytes.data())->plan();
  return {content.begin(), content.end()};
}

/// A folder that vanishes with the test.
class PlanFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "epl-plan-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  size_t fileCount() const {
    return size_t(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder;
};

TEST_F(PlanFile, WhatIsWrittenIsRead) {
  for (const NamedPlan &named : allPlans()) {
    writePlan(named.plan, folder / "p.eplan");
    EXPECT_EQ(dumpPlan(readPlan(folder / "p.eplan")), dumpPlan(named.plan)) << named.name;
  }
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(PlanFile, TheHalvesOfAnAllReduceStillNameEachOther) {
  plan::PlanT plan = parsePlan(serializePlan(trainingPlan(2)), "p");
  EXPECT_EQ(plan.commands[6]->action.AsReducePart()->gather, 7u);
  EXPECT_EQ(plan.commands[7]->action.AsGatherParts()->reduce, 6u);
}

TEST_F(PlanFile, EqualPlansGiveEqualBytes) {
  EXPECT_EQ(serializePlan(trainingPlan(2)), serializePlan(trainingPlan(2)));
}

TEST_F(PlanFile, TheImageSurvives) {
  plan::PlanT plan = trainingPlan(2);
  plan.images.push_back(std::make_unique<plan::ImageT>());
  for (int i = 0; i < 100000; ++i)
    plan.images[0]->bytes.push_back(uint8_t(i * 7));
  EXPECT_EQ(parsePlan(serializePlan(plan), "p").images[0]->bytes, plan.images[0]->bytes);
}

TEST_F(PlanFile, EveryTruncationIsAnError) {
  std::vector<uint8_t> bytes = serializePlan(trainingPlan(2));
  EXPECT_EQ(parseError({}), "plan file \"p.eplan\" is empty");
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_THAT(parseError(std::span(bytes).first(size)),
                size < 12 ? "plan file \"p.eplan\" is not an EPL plan"
                          : "plan file \"p.eplan\" is truncated: expected " + std::to_string(bytes.size()) +
                                " bytes, found " + std::to_string(size));
}

TEST_F(PlanFile, EveryChangedBitIsAnError) {
  std::vector<uint8_t> bytes = serializePlan(trainingPlan(2));
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= uint8_t(1 << bit);
      EXPECT_THAT(parseError(bytes), StartsWith("plan file \"p.eplan\" ")) << "byte " << i << ", bit " << bit;
      bytes[i] ^= uint8_t(1 << bit);
    }
}

TEST_F(PlanFile, AChangedPlanHasAnotherHash) {
  std::vector<uint8_t> bytes = serializePlan(trainingPlan(2));
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(parseError(bytes),
              MatchesRegex("plan file \"p.eplan\" has changed since it was written: hash differs, "
                           "expected [0-9a-f]+, found [0-9a-f]+"));
}

TEST_F(PlanFile, TrailingBytesAreAnError) {
  std::vector<uint8_t> bytes = serializePlan(trainingPlan(2));
  size_t size = bytes.size();
  bytes.push_back(0);
  EXPECT_EQ(parseError(bytes), "plan file \"p.eplan\" is too long: expected " + std::to_string(size) +
                                   " bytes, found " + std::to_string(size + 1));
}

TEST_F(PlanFile, AnotherVersionIsAnError) {
  plan::PlanT plan = trainingPlan(2);
  plan.version = 11;
  EXPECT_EQ(parseError(serializePlan(plan)), "plan file \"p.eplan\" has version 11: expected version 22");
}

TEST_F(PlanFile, AnInvalidPlanIsAnErrorThatNamesTheFile) {
  plan::PlanT plan = trainingPlan(2);
  plan.commands[12]->waits.clear();
  EXPECT_THAT(parseError(serializePlan(plan)),
              StartsWith("plan file \"p.eplan\": command #6 \"sum g2\" writes and command #12"));
}

/// What the hash does not protect from: bytes that were changed and hashed again. The FlatBuffers verifier
/// and the plan verifier stand alone; a change that neither can see (a name, a figure for people) is no
/// error.
TEST_F(PlanFile, ChangedAndHashedAgainItNeverCrashes) {
  std::mt19937 random(11);
  size_t rejected = 0, trials = 4000;
  for (size_t trial = 0; trial < trials; ++trial) {
    std::vector<uint8_t> content = contentOf(serializePlan(trial % 2 ? trainingPlan(2) : gatherPlan()));
    for (unsigned count = 1 + random() % 3; count > 0; --count)
      content[random() % content.size()] = uint8_t(random() % 4 ? random() % 8 : random());
    rejected += parseError(sealPlan(content)) != "no error";
  }
  EXPECT_GT(rejected, trials / 2);
}

/// Where a field of a table lies in the bytes that the table is read from.
size_t placeOf(const void *table, flatbuffers::voffset_t field, const std::vector<uint8_t> &content) {
  return size_t(static_cast<const flatbuffers::Table *>(table)->GetAddressOf(field) - content.data());
}

/// FlatBuffers' own verifier does not see these: it asks where the length of a vector lies, not its elements.
TEST_F(PlanFile, MisalignedVectorsAreErrors) {
  plan::PlanT plan = trainingPlan(2);
  plan.slots[0]->shape = {1, 1};
  plan.kernels[0]->operand_sizes = {1, 1};
  plan::ContractT contract;
  contract.batch = {{1, 1, 1, 1}, {1, 1, 1, 1}};
  plan.commands[0]->action.Set(contract);
  std::vector<uint8_t> content = contentOf(serializePlan(plan));
  // Four bytes late, the first number of a vector is its length.
  auto errorWithLateVector = [&](const void *table, flatbuffers::voffset_t field) {
    std::vector<uint8_t> changed = content;
    size_t place = placeOf(table, field, content);
    changed[place] = uint8_t(changed[place] + 4);
    return parseError(sealPlan(changed));
  };
  const plan::Plan &root = *flatbuffers::GetRoot<plan::Plan>(content.data());
  std::string expected = "plan file \"p.eplan\" is damaged: its plan is malformed";
  EXPECT_EQ(errorWithLateVector(root.slots()->Get(0), plan::Slot::VT_SHAPE), expected);
  EXPECT_EQ(errorWithLateVector(root.kernels()->Get(0), plan::Kernel::VT_OPERAND_SIZES), expected);
  EXPECT_EQ(errorWithLateVector(root.commands()->Get(0)->action(), plan::Contract::VT_BATCH), expected);
}

/// Nor these: of a kind that it does not know it reads nothing.
TEST_F(PlanFile, ActionsOfUnknownKindsAreErrors) {
  std::vector<uint8_t> content = contentOf(serializePlan(trainingPlan(2)));
  size_t kind = placeOf(flatbuffers::GetRoot<plan::Plan>(content.data())->commands()->Get(0),
                        plan::Command::VT_ACTION_TYPE, content);
  ASSERT_EQ(parseError(sealPlan(content)), "no error");
  for (auto unknown : {uint8_t(plan::Action::NONE), uint8_t(uint8_t(plan::Action::MAX) + 1), uint8_t(255)}) {
    content[kind] = unknown;
    EXPECT_EQ(parseError(sealPlan(content)), "plan file \"p.eplan\" is damaged: its plan is malformed");
  }
}

TEST_F(PlanFile, RandomBytesAreAnError) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<uint8_t> content(random() % 300);
    std::ranges::generate(content, [&] { return uint8_t(random() % 3 ? random() % 16 : random()); });
    EXPECT_NE(parseError(content), "no error");
    EXPECT_NE(parseError(sealPlan(content)), "no error");
  }
}

TEST_F(PlanFile, BytesMayStartAnywhere) {
  std::vector<uint8_t> bytes = serializePlan(trainingPlan(2)), shifted;
  for (size_t shift = 0; shift < 8; ++shift) {
    shifted.assign(shift, 0);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    EXPECT_EQ(parseError(std::span(shifted).subspan(shift)), "no error");
  }
}

TEST_F(PlanFile, MissingFilesAndFoldersAreErrors) {
  EXPECT_EQ(errorOf([&] { readPlan("/nonexistent/p.eplan"); }),
            "cannot read \"/nonexistent/p.eplan\": No such file or directory");
  EXPECT_EQ(errorOf([&] { readPlan(folder); }), "cannot read \"" + folder.string() + "\": Is a directory");
  EXPECT_EQ(errorOf([&] { writePlan(trainingPlan(2), "/nonexistent/p.eplan"); }),
            "cannot create \"/nonexistent/p.eplan\": No such file or directory");
}

TEST_F(PlanFile, ATargetThatIsAFolderLeavesNothingBehind) {
  std::filesystem::create_directory(folder / "p.eplan");
  EXPECT_THAT(errorOf([&] { writePlan(trainingPlan(2), folder / "p.eplan"); }), StartsWith("cannot create"));
  EXPECT_EQ(fileCount(), 1u);
}

/// A limit on file sizes stands for a full disk: write fails in the middle. The old file stays whole.
TEST_F(PlanFile, APipeIsWrittenAndStaysAPipe) {
  std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  plan::PlanT plan = trainingPlan(2);
  std::vector<char> bytes;
  std::thread reader([&] {
    std::ifstream stream(pipe, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
  });
  writePlan(plan, pipe);
  reader.join();
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(fileCount(), 1u);
  std::vector<uint8_t> expected = serializePlan(plan);
  EXPECT_TRUE(std::ranges::equal(bytes, expected, {}, [](char byte) { return uint8_t(byte); }));
}

TEST_F(PlanFile, AFullDiskKeepsTheOldFile) {
  writePlan(gatherPlan(), folder / "p.eplan");
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight{100, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::string error = errorOf([&] { writePlan(trainingPlan(2), folder / "p.eplan"); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "cannot write \"" + (folder / "p.eplan").string() + "\": File too large");
  EXPECT_EQ(fileCount(), 1u);
  EXPECT_EQ(dumpPlan(readPlan(folder / "p.eplan")), dumpPlan(gatherPlan()));
}

} // namespace
} // namespace epl::runtime::test
