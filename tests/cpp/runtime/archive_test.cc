// Archives: tar, zip, NumPy's files. What they hold comes back, and what is forged is rejected by name. Files of lines.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "expect_error.h"
#include "runtime/archive/files.h"
#include "runtime/archive/npy.h"
#include "runtime/archive/tar.h"
#include "runtime/archive/zip.h"
#include "runtime/package/package.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

#define EXPECT_ERROR(call, part) EXPECT_THAT(error_of([&] { (void)(call); }), ::testing::HasSubstr(part))

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// One header of a tar archive and the blocks of its data, with the checksum that fits.
std::string tar_member(const std::string& name, const std::string& data, char type = '0', uint64_t size = UINT64_MAX) {
  std::string block(512, '\0');
  auto put = [&](size_t at, const std::string& text) { block.replace(at, text.size(), text); };
  char octal[12];
  snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(size == UINT64_MAX ? data.size() : size));
  put(0, name);
  put(100, "0000644");
  put(124, octal);
  put(148, "        ");
  block[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (unsigned char c : block) sum += c;
  snprintf(octal, sizeof octal, "%06o", sum);
  put(148, std::string(octal) + '\0');
  std::string out = block + data;
  out.resize((out.size() + 511) / 512 * 512);
  return out;
}
const std::string kEnd(1024, '\0');

TarReader read(const std::string& bytes) { return TarReader(bytes, "x.tar", "the archive"); }

TEST(Tar, WhatIsWrittenComesBack) {
  TemporaryFolder folder;
  std::string path = folder.file("a.tar");
  write_tar(path, {{"one", "1", ""}, {"two/three", std::string(1000, 'x'), ""}, {"empty", "", ""}});
  TarReader tar(path);
  ASSERT_EQ(tar.members().size(), 3u);
  EXPECT_EQ(tar["one"], "1");
  EXPECT_EQ(tar["two/three"], std::string(1000, 'x'));
  EXPECT_EQ(tar["empty"], "");
  EXPECT_TRUE(TarReader::is_tar(path));
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1) << "temporary files stay";
  std::string first = contents(path);
  write_tar(path, {{"one", "1", ""}, {"two/three", std::string(1000, 'x'), ""}, {"empty", "", ""}});
  EXPECT_EQ(contents(path), first);
}

TEST(Tar, PartsBecomeOneMember) {
  TemporaryFolder folder;
  std::string path = folder.file("a.tar"), long_part(1000, 'x');
  auto parts = [&](const std::function<void(std::string_view)>& out) {
    out("begin ");
    out(long_part);
  };
  write_tar(path, {{"parts", "", "", parts}, {"next", "1", ""}});
  TarReader tar(path);
  EXPECT_EQ(tar["parts"], "begin " + long_part);
  EXPECT_EQ(tar["next"], "1");
}

TEST(Tar, AFailedWriteLeavesTheOldFile) {
  TemporaryFolder folder;
  std::string path = folder.file("a.tar");
  write_tar(path, {{"one", "1", ""}});
  std::string before = contents(path);
  EXPECT_THROW(write_tar(path, {{"one", "2", ""}, {"two", "", folder.file("missing")}}), Error);
  EXPECT_EQ(contents(path), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1);
}

TEST(Tar, NamesOfOtherWritersAreUnderstood) {
  std::string pax = "20 path=a/long/name\n23 mtime=1700000000.25\n";
  std::string gnu = std::string("./long") + '\0';
  TarReader tar =
      read(tar_member("PaxHeader", pax, 'x') + tar_member("short", "1") + tar_member("././@LongLink", gnu, 'L') +
           tar_member("lo", "2") + tar_member("folder/", "", '5') + kEnd);
  ASSERT_EQ(tar.members().size(), 2u);
  EXPECT_EQ(tar.members()[0].name, "a/long/name");
  EXPECT_EQ(tar.members()[1].name, "long");
}

TEST(Tar, HostileArchivesAreRejected) {
  EXPECT_ERROR(read(tar_member("/etc/passwd", "x") + kEnd), "would lie outside");
  EXPECT_ERROR(read(tar_member("a/../../b", "x") + kEnd), "would lie outside");
  EXPECT_ERROR(read(tar_member("P", "16 path=../evil\n", 'x') + tar_member("ok", "x") + kEnd), "would lie outside");
  EXPECT_ERROR(read(tar_member("link", "", '2') + kEnd), "is a link");
  EXPECT_ERROR(read(tar_member("link", "", '1') + kEnd), "is a link");
  EXPECT_ERROR(read(tar_member("disk", "", '4') + kEnd), "is no plain file");
  EXPECT_ERROR(read(tar_member("a", "x") + tar_member("./a", "y") + kEnd), "comes twice");
  EXPECT_ERROR(read(tar_member("a", "", '0', 1ull << 32) + kEnd), "announces 4294967296 bytes, but 1024 are left");
  EXPECT_ERROR(read(tar_member("P", "30 size=99999999999999999999\n", 'x') + tar_member("a", "x") + kEnd), "damaged");
  EXPECT_ERROR(read(tar_member("a", "x")), "cut short");
  EXPECT_ERROR(read(""), "cut short");
  std::string damaged = tar_member("a", "x") + kEnd;
  damaged[0] = 'b';
  EXPECT_ERROR(read(damaged), "the header at byte 0 is damaged");
}

TEST(Tar, AChangedByteIsSeen) {
  TemporaryFolder folder;
  std::string path = folder.file("a.tar");
  write_tar(path, {{"one", "1", ""}});
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(512).put('2');
  EXPECT_ERROR((TarReader{path, "the package"}), "is corrupt");
}

TEST(Package, AnArchiveOfOtherThingsIsToldApart) {
  TemporaryFolder folder;
  std::string path = folder.file("a.tar");
  write_tar(path, {{"readme", "1", ""}});
  EXPECT_ERROR(Package{path}, "no package of a model");
  write_tar(path, {{"metadata.json", "{}", ""}});
  EXPECT_ERROR(load_package(Package(path)), "Model Library Format");
  write_tar(path, {{"mod.so", "x", ""}});
  EXPECT_EQ(Package(path).kind, Package::Classic);
  EXPECT_ERROR(load_package(Package(path)), "a.tar/mod.so");
}

// ---- NumPy's files -------------------------------------------------------------------------------------------------

NDArray numbers(std::vector<int64_t> shape, DataType dtype) {
  NDArray out = NDArray::empty(shape, dtype);
  for (size_t i = 0; i < out.bytes(); ++i) out.data<char>()[i] = static_cast<char>(dtype.is_bool() ? i % 2 : i);
  return out;
}

std::string npy(const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY\x01";
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}
std::string npy(const char* type, const char* shape, const std::string& data, const char* order = "False") {
  return npy("{'descr': " + std::string(type) + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }", data);
}

TEST(Npz, TensorsOfAllTypesComeBack) {
  TemporaryFolder folder;
  NamedTensors given;
  for (const char* name : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                           "float32", "float64"})
    given.emplace_back(name, numbers({2, 3}, DataType(name)));
  given.emplace_back("scalar", numbers({}, DataType::Float(32)));
  given.emplace_back("empty", numbers({0, 4}, DataType::Float(32)));
  given.emplace_back("line", numbers({5}, DataType::Float(32)));
  save_npz(folder.file("a.npz"), given);
  NamedTensors back = load_npz(folder.file("a.npz"));
  ASSERT_EQ(back.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(back[i].first, given[i].first);
    EXPECT_EQ(back[i].second.dtype(), given[i].second.dtype());
    EXPECT_EQ(shape_text(back[i].second.shape()), shape_text(given[i].second.shape()));
    EXPECT_EQ(std::memcmp(back[i].second.data<char>(), given[i].second.data<char>(), given[i].second.bytes()), 0);
  }
}

TEST(Npz, ElementsBeginAtMultiplesOf64) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {1}, {1, 2}, {1000, 1000, 1000}})
    EXPECT_EQ(npy_header(shape, DataType::Float(32)).size() % 64, 0u);
}

TEST(Npy, ColumnsAndOtherByteOrdersAreReadAsRows) {
  NDArray columns = read_npy(npy("'|u1'", "(2, 3)", std::string("\0\3\1\4\2\5", 6), "True"), "x");
  EXPECT_EQ(std::string(columns.data<char>(), 6), std::string("\0\1\2\3\4\5", 6));
  NDArray swapped = read_npy(npy("'>i4'", "(1,)", std::string("\0\0\1\2", 4)), "x");
  EXPECT_EQ(*swapped.data<int32_t>(), 258);
  NDArray truth = read_npy(npy("'|b1'", "(2,)", std::string("\0\7", 2)), "x");
  EXPECT_EQ(truth.data<char>()[1], 1);
}

TEST(Npy, WhatIsNoTensorIsRejected) {
  EXPECT_ERROR(read_npy(npy("'|O'", "(1,)", "x"), "x.npy"), "Python objects");
  EXPECT_ERROR(read_npy(npy("'<U3'", "(1,)", "x"), "x.npy"), "strings");
  EXPECT_ERROR(read_npy(npy("'<c8'", "(1,)", "12345678"), "x.npy"), "complex numbers");
  EXPECT_ERROR(read_npy(npy("[('a', '<f4')]", "(1,)", "1234"), "x.npy"), "records");
  EXPECT_ERROR(read_npy(npy("'<f4'", "(2,)", "1234"), "x.npy"), "does not fit the 4 bytes");
  EXPECT_ERROR(read_npy(npy("'<f4'", "(4611686018427387904, 4)", ""), "x.npy"), "Error");
  EXPECT_ERROR(read_npy(npy("'<f4'", "(-1,)", ""), "x.npy"), "not of the form");
  EXPECT_ERROR(read_npy(npy("{'descr': '<f4'", ""), "x.npy"), "not of the form");
  EXPECT_ERROR(read_npy("nonsense, and a lot of it", "x.npy"), "does not begin as .npy files do");
  EXPECT_ERROR(read_npy("\x93NUMPY", "x.npy"), "too short");
}

std::string zip_of(const std::string& name, const std::string& data) {
  std::string out;
  ZipWriter zip([&](std::string_view bytes) { out += bytes; });
  zip.add(name, {data});
  zip.finish();
  return out;
}

TEST(Zip, ForgedNumbersAreRejected) {
  std::string good = zip_of("a.npy", "hello");
  EXPECT_EQ(read_zip(good, "x.npz")[0].packed, "hello");
  EXPECT_ERROR(read_zip(good.substr(0, good.size() - 5), "x.npz"), "cut short");
  EXPECT_ERROR(read_zip("", "x.npz"), "cut short");
  EXPECT_ERROR(read_zip(zip_of("../a", "x"), "x.npz"), "leads out");
  EXPECT_ERROR(read_zip(zip_of("/a", "x"), "x.npz"), "leads out");
  for (size_t i = 0; i < good.size(); ++i) {  // any byte changed: an answer or an error, never anything else
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    try {
      for (const ZipMember& member : read_zip(changed, "x.npz")) {
        std::string out(std::min<uint64_t>(member.size, 1000), '\0');
        if (member.size <= 1000) unpack(member, out.data(), "x.npz");
      }
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), InternalError) << error.what();
    }
  }
  std::string changed = good;
  changed[good.find("hello")] = 'j';
  std::string out(5, '\0');
  EXPECT_ERROR(unpack(read_zip(changed, "x.npz")[0], out.data(), "x.npz"), "its checksum is wrong");
}

TEST(Zip, ACompressedMemberGivesWhatItAnnouncesOrAnError) {
  // A megabyte of zeros, deflated (by zlib) to few bytes.
  std::string bomb = "\x03";
  bomb += '\0';  // an empty last block: it unpacks to nothing
  ZipMember member{"a.npy", 1 << 20, bomb, true, 0};
  std::string out(1 << 20, '\0');
  EXPECT_ERROR(unpack(member, out.data(), "x.npz"), "fewer bytes than it announces");
  member.packed = "\xff\xff\xff";
  EXPECT_ERROR(unpack(member, out.data(), "x.npz"), "make no sense");
}

TEST(LineFile, EndsWhatAKilledWriterLeftHalf) {
  const TemporaryFolder folder;
  const std::string path = folder.file("lines");
  std::ofstream(path) << "whole\nha";
  LineFile(path, "lines").append("next\n");
  EXPECT_EQ(contents(path), "whole\nha\nnext\n");
  EXPECT_ERROR(LineFile(folder.file("none/lines"), "lines"), "cannot write lines " + folder.file("none/lines"));
}

TEST(LineFile, WritersTakeTurns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("lines"), line = std::string(5000, 'x') + "\n";
  constexpr int kWriters = 4, kLines = 50;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([&] {
      LineFile file(path, "lines");
      for (int j = 0; j < kLines; ++j) file.append(line);
    });
  for (std::thread& each : writers) each.join();
  std::string wanted;
  for (int i = 0; i < kWriters * kLines; ++i) wanted += line;
  EXPECT_EQ(contents(path), wanted);
}

}  // namespace
}  // namespace tessera
