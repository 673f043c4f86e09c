// RPC without sockets: digests against their published values, names of files, frames that no client sends.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "runtime/rpc/handshake.h"
#include "runtime/rpc/server_files.h"
#include "runtime/rpc/server_session.h"
#include "runtime/rpc/sha256.h"

namespace tessera::rpc {
namespace {

using testing::HasSubstr;

std::string hex(const Digest& digest) {
  std::string out;
  for (uint8_t byte : digest) out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
  return out;
}

TEST(Rpc, Sha256AgreesWithItsStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Rpc, HmacAgreesWithRfc4231) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Rpc, AProofIsGoodForOneChallengeOnly) {
  Hello hello{.magic = kRpcMagic, .is_server = false, .key = "k", .timeout = 0, .nonce = std::string(32, 'n')};
  Greeting first(hello, Welcome::Ok), second(hello, Welcome::Ok);
  EXPECT_NE(first.challenge(), second.challenge());
  EXPECT_FALSE(first.answer("").has_value());
  EXPECT_FALSE(first.answer(std::string(32, '\0')).has_value());
}

TEST(Rpc, NamesOfFilesStayInsideTheFolder) {
  EXPECT_EQ(session_path("a/b.so"), session_folder() + "/a/b.so");
  for (const char* name : {"", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/.", ".."})
    EXPECT_THAT(error_of([&] { session_path(name); }), HasSubstr("is no name of a file of the session"));
}

TEST(Rpc, AForgedFrameIsAnErrorAndHasNoEffect) {
  ServerSession session;
  ByteWriter alloc = frame_of(Code::DevAllocData);
  write_device(alloc, cpu());
  alloc.write(int64_t{16});
  ASSERT_TRUE(session.answer(alloc.take()).has_value());
  ByteWriter trailing = frame_of(Code::CopyToRemote);
  trailing.write(uint64_t{1});
  trailing.write(uint64_t{0});
  trailing.write("abcd");
  trailing.write(uint8_t{0});
  EXPECT_THAT(error_of([&] { session.answer(trailing.take()); }), HasSubstr("corrupt RPC frame: end"));
  EXPECT_THAT(error_of([&] { session.answer("\xee"); }), HasSubstr("corrupt RPC frame: code"));
}

TEST(Rpc, ACopyOutsideOfItsTensorIsAnException) {
  ServerSession session;
  ByteWriter alloc = frame_of(Code::DevAllocData);
  write_device(alloc, cpu());
  alloc.write(int64_t{16});
  session.answer(alloc.take());
  ByteWriter copy = frame_of(Code::CopyFromRemote);
  copy.write(uint64_t{1});
  copy.write(uint64_t{12});
  copy.write(uint64_t{8});
  std::optional<std::string> answer = session.answer(copy.take());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(static_cast<Code>((*answer)[0]), Code::Exception);
  EXPECT_NE(answer->find("bytes 12 to 20 are not inside a tensor of 16 bytes"), std::string::npos);
}

}  // namespace
}  // namespace tessera::rpc
