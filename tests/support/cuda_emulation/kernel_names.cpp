// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/kernel_names.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace lockstep::tests::cuda_emulation {

namespace {

using Names = std::map<std::uintptr_t, std::string>;  // key: address in the file

// Reads the symbols from the program's file, because dladdr() does not find kernels of an unnamed
// namespace.
class ProgramFile {
public:
    explicit ProgramFile(const char* path) {
        std::ifstream file(path, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
    }

    Names functions() const {
        Names names;
        if (bytes_.size() < sizeof(ElfW(Ehdr))) return names;
        const auto header = at<ElfW(Ehdr)>(0);
        for (unsigned i = 0; i < header.e_shnum; ++i) {
            const auto section = at<ElfW(Shdr)>(header.e_shoff + i * sizeof(ElfW(Shdr)));
            if (section.sh_type != SHT_SYMTAB) continue;
            const auto strings =
                at<ElfW(Shdr)>(header.e_shoff + section.sh_link * sizeof(ElfW(Shdr)));
            add_functions(section, strings, names);
        }
        return names;
    }

private:
    template <class T>
    T at(std::size_t offset) const {
        T value{};
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }

    // Local symbols follow the name of their source file.
    void add_functions(const ElfW(Shdr) & symbols, const ElfW(Shdr) & strings, Names& names) const {
        std::string source;
        for (std::size_t i = 0; i < symbols.sh_size; i += sizeof(ElfW(Sym))) {
            const auto symbol = at<ElfW(Sym)>(symbols.sh_offset + i);
            const char* const text = bytes_.data() + strings.sh_offset + symbol.st_name;
            const auto type = ELF64_ST_TYPE(symbol.st_info);
            if (type == STT_FILE) source = std::filesystem::path(text).stem().string() + "/";
            if (type != STT_FUNC || symbol.st_value == 0) continue;
            const bool local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
            names[symbol.st_value] = (local ? source : "") + text;
        }
    }

    std::vector<char> bytes_;
};

std::uintptr_t load_address() {
    std::uintptr_t address = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* program, std::size_t, void* to) {
            *static_cast<std::uintptr_t*>(to) = program->dlpi_addr;
            return 1;  // stops at the first one, which is the program itself
        },
        &address);
    return address;
}

// Returns the plain name: "void a::(anonymous namespace)::kernel<float>(float*)" gives "kernel".
std::string plain(const std::string& mangled) {
    int status = 0;
    char* const demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = demangled == nullptr ? mangled : demangled;
    std::free(demangled);
    const std::string unnamed = "(anonymous namespace)::";
    for (auto at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed))
        name.erase(at, unnamed.size());
    name = name.substr(0, name.find_first_of("<("));
    return name.substr(name.find_last_of(": ") + 1);
}

}  // namespace

std::string kernel_name(const void* kernel) {
    static const Names names = ProgramFile("/proc/self/exe").functions();
    static const std::uintptr_t begin = load_address();
    const auto found = names.find(reinterpret_cast<std::uintptr_t>(kernel) - begin);
    if (found == names.end()) return "unknown";
    const auto slash = found->second.rfind('/') + 1;
    return found->second.substr(0, slash) + plain(found->second.substr(slash));
}

}  // namespace lockstep::tests::cuda_emulation
