// Which engine is taken, and what is said when none can be.
#include <cerrno>
#include <thread>

#include <gmock/gmock.h>

#include "engine/base/error.h"
#include "tests/hardware/refuse_call.h"
#include "tests/hardware/storage/disk_image.h"

namespace leanstream::hardware {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const StorageSpec& spec) {
  try {
    return "no error, but " + open_storage(spec)->description();
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(OpenStorage, AutoFallsBackAndSaysWhy) {
  const DiskImage image;
  bool refused = false;
  std::string without_uring;
  std::string by_name;
  std::string without_both;
  std::thread([&] {
    refused = refuse_call(SYS_io_uring_setup, EPERM);
    without_uring = open_storage({.path = image.path()})->description();
    by_name = error_of({.path = image.path(), .engine = "io_uring"});
    refused &= refuse_call(SYS_io_setup, ENOSYS);
    without_both = open_storage({.path = image.path()})->description();
  }).join();
  if (!refused) GTEST_SKIP() << "no system call can be refused here (seccomp)";
  EXPECT_THAT(without_uring, testing::AnyOf(StartsWith("libaio"), StartsWith("pread")));
  EXPECT_THAT(without_uring, HasSubstr("not io_uring: "));
  EXPECT_THAT(by_name, HasSubstr("storage engine 'io_uring' cannot be used"));
  EXPECT_THAT(by_name, HasSubstr("'auto' takes what works"));
  EXPECT_THAT(without_both,
              AllOf(StartsWith("pread"), HasSubstr("not libaio: this kernel has no libaio")));
}

TEST(OpenStorage, WhatIsWrongIsSaid) {
  const DiskImage image;
  EXPECT_THAT(error_of({.path = "no-such.image"}),
              "no-such.image cannot be opened: No such file or directory");
  EXPECT_THAT(error_of({.path = "."}), HasSubstr("neither a file nor a block device"));
  EXPECT_THAT(error_of({.path = image.path(), .engine = "io_urnig"}),
              HasSubstr("did you mean 'io_uring'?"));
  EXPECT_THAT(error_of({.path = image.path(), .lanes = 16, .depth = 2000}),
              HasSubstr("together at most 16384"));
  EXPECT_THAT(error_of({.path = image.path(), .depth = 0}), HasSubstr("both at least 1"));
}

TEST(OpenStorage, AFileWithoutPermissionIsNamed) {
  if (::geteuid() == 0) {
    bool done = false;
    std::string error;
    const DiskImage image;
    std::filesystem::permissions(image.path(), std::filesystem::perms::none);
    // Of this thread only, which ends: the system call, not the library's function.
    std::thread([&] {
      done = ::syscall(SYS_setresuid, 65534, 65534, 65534) == 0;
      error = error_of({.path = image.path()});
    }).join();
    if (!done) GTEST_SKIP() << "this user cannot become another";
    EXPECT_THAT(error,
                testing::AnyOf(HasSubstr("is not readable"), HasSubstr("Permission denied")));
  } else {
    const DiskImage image;
    std::filesystem::permissions(image.path(), std::filesystem::perms::none);
    EXPECT_THAT(error_of({.path = image.path()}), HasSubstr("is not readable"));
  }
}

}  // namespace
}  // namespace leanstream::hardware
