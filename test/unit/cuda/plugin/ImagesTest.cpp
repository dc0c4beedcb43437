// Code that a card or its driver does not take.

#include "runtime/device/cuda/Images.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime::cuda {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A plan whose code is PTX.
plan::PlanT planOf(const std::string &target, const std::string &code) {
  plan::PlanT plan;
  auto image = std::make_unique<plan::ImageT>();
  image->kind = plan::ImageKind::ptx, image->target = target;
  image->bytes.assign(code.begin(), code.end());
  image->bytes.push_back(0);
  plan.images.push_back(std::move(image));
  return plan;
}

class ImagesTest : public testing::Test {
protected:
  void load(const plan::PlanT &plan) { Images images(cards, plan); }

  std::shared_ptr<const Cards> cards =
      std::make_shared<Cards>(Devices{"cuda", 1}, Peers({"cuda", 1}, nullptr));
};

TEST_F(ImagesTest, NameBothVersionsIfTheDriverIsTooOld) {
  plan::PlanT plan = planOf("sm_80", "//\n.version 99.9\n.target sm_80\n.address_size 64\n");
  EXPECT_THAT([&] { load(plan); },
              ThrowsMessage<Error>(HasSubstr("(its PTX is .version 99.9; the driver has CUDA 13.")));
}

TEST_F(ImagesTest, NameTheCardIfItIsTooOld) {
  plan::PlanT plan = planOf("sm_999", "");
  EXPECT_THAT([&] { load(plan); },
              ThrowsMessage<Error>(HasSubstr("the plan has no code for card 0, which is sm_")));
}

} // namespace
} // namespace epl::runtime::cuda
