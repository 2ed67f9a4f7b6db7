/// A libhdfs.so without Hadoop: the functions of hdfs.h that Arrow calls, over
/// the folder $BALLAST_TEST_HDFS_ROOT, for reading alone. The name node must be
/// called "played"; any other does not answer. Names are those of Hadoop's ABI.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct builder {
  std::string node;
  uint16_t port = 0;
};
struct connection {
  std::string authority; // hdfs://played:9000
};
struct open_file {
  int descriptor = -1;
};

/// hdfsFileInfo of hdfs.h.
struct file_info {
  int kind; // 'F' or 'D'
  char* name;
  time_t modified;
  int64_t size;
  int16_t replication;
  int64_t block_size;
  char* owner;
  char* group;
  int16_t permissions;
  time_t accessed;
};

std::string local(const char* path) {
  const char* root = std::getenv("BALLAST_TEST_HDFS_ROOT");
  return std::string(root == nullptr ? "/nonexistent" : root) + path;
}

bool describe(const connection& by, const std::string& path, file_info& out) {
  struct stat about {};
  if (stat(local(path.c_str()).c_str(), &about) != 0)
    return false;
  out.kind = S_ISDIR(about.st_mode) ? 'D' : 'F';
  out.name = strdup((by.authority + path).c_str());
  out.modified = about.st_mtime;
  out.size = S_ISDIR(about.st_mode) ? 0 : about.st_size;
  out.replication = 3;
  out.block_size = 128 << 20;
  out.owner = strdup("hadoop");
  out.group = strdup("hadoop");
  out.permissions = 0644;
  out.accessed = about.st_atime;
  return true;
}

file_info* room_for(size_t infos) {
  return static_cast<file_info*>(std::calloc(infos, sizeof(file_info)));
}

int refuse() {
  errno = EROFS;
  return -1;
}

} // namespace

// clang-format off
extern "C" {

builder* hdfsNewBuilder() { return new builder; }
void hdfsBuilderSetNameNode(builder* b, const char* node) { b->node = node; }
void hdfsBuilderSetNameNodePort(builder* b, uint16_t port) { b->port = port; }
void hdfsBuilderSetUserName(builder*, const char*) {}
void hdfsBuilderSetKerbTicketCachePath(builder*, const char*) {}
void hdfsBuilderSetForceNewInstance(builder*) {}
int hdfsBuilderConfSetStr(builder*, const char*, const char*) { return 0; }

connection* hdfsBuilderConnect(builder* b) {
  connection* out = nullptr;
  if (b->node == "played" || b->node == "hdfs://played")
    out = new connection{"hdfs://played:" + std::to_string(b->port)};
  else
    errno = ECONNREFUSED;
  delete b;
  return out;
}
int hdfsDisconnect(connection* by) { delete by; return 0; }

open_file* hdfsOpenFile(connection*, const char* path, int flags, int, short, int32_t) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    refuse();
    return nullptr;
  }
  const int descriptor = open(local(path).c_str(), O_RDONLY | O_CLOEXEC);
  return descriptor < 0 ? nullptr : new open_file{descriptor};
}
int hdfsCloseFile(connection*, open_file* file) {
  close(file->descriptor);
  delete file;
  return 0;
}
int hdfsExists(connection*, const char* path) { return access(local(path).c_str(), F_OK); }
int hdfsSeek(connection*, open_file* file, int64_t to) {
  return lseek(file->descriptor, to, SEEK_SET) < 0 ? -1 : 0;
}
int64_t hdfsTell(connection*, open_file* file) { return lseek(file->descriptor, 0, SEEK_CUR); }
int32_t hdfsRead(connection*, open_file* file, void* to, int32_t bytes) {
  return int32_t(read(file->descriptor, to, size_t(bytes)));
}
int32_t hdfsPread(connection*, open_file* file, int64_t at, void* to, int32_t bytes) {
  return int32_t(pread(file->descriptor, to, size_t(bytes), at));
}
int hdfsAvailable(connection*, open_file*) { return 1 << 20; }

file_info* hdfsGetPathInfo(connection* by, const char* path) {
  file_info one{};
  if (!describe(*by, path, one))
    return nullptr;
  file_info* out = room_for(1);
  *out = one;
  return out;
}
file_info* hdfsListDirectory(connection* by, const char* path, int* count) {
  std::error_code error;
  std::vector<file_info> found;
  const std::string base = std::strcmp(path, "/") == 0 ? "" : path;
  for (const auto& one : fs::directory_iterator(local(path), error)) {
    file_info about{};
    if (describe(*by, base + "/" + one.path().filename().string(), about))
      found.push_back(about);
  }
  *count = int(found.size());
  errno = error.value();
  if (found.empty())
    return nullptr;
  file_info* out = room_for(found.size());
  std::memcpy(out, found.data(), found.size() * sizeof(file_info));
  return out;
}
void hdfsFreeFileInfo(file_info* infos, int count) {
  for (int i = 0; i < count; ++i) {
    std::free(infos[i].name);
    std::free(infos[i].owner);
    std::free(infos[i].group);
  }
  std::free(infos);
}
char* hdfsGetWorkingDirectory(connection* by, char* to, size_t bytes) {
  const std::string text = by->authority + "/user/hadoop";
  if (text.size() + 1 > bytes)
    return nullptr;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return to;
}
int hdfsSetWorkingDirectory(connection*, const char*) { return 0; }
int64_t hdfsGetDefaultBlockSize(connection*) { return 128 << 20; }
int64_t hdfsGetCapacity(connection*) { return 0; }
int64_t hdfsGetUsed(connection*) { return 0; }

int32_t hdfsWrite(connection*, open_file*, const void*, int32_t) { return refuse(); }
int hdfsFlush(connection*, open_file*) { return refuse(); }
int hdfsCopy(connection*, const char*, connection*, const char*) { return refuse(); }
int hdfsMove(connection*, const char*, connection*, const char*) { return refuse(); }
int hdfsDelete(connection*, const char*, int) { return refuse(); }
int hdfsRename(connection*, const char*, const char*) { return refuse(); }
int hdfsCreateDirectory(connection*, const char*) { return refuse(); }
int hdfsSetReplication(connection*, const char*, int16_t) { return refuse(); }
int hdfsChown(connection*, const char*, const char*, const char*) { return refuse(); }
int hdfsChmod(connection*, const char*, short) { return refuse(); }
int hdfsUtime(connection*, const char*, time_t, time_t) { return refuse(); }
char*** hdfsGetHosts(connection*, const char*, int64_t, int64_t) { return nullptr; }
void hdfsFreeHosts(char***) {}

} // extern "C"
