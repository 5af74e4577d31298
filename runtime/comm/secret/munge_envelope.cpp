// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/comm/secret/secret_envelope.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

// Holds the functions used from libmunge.so.2, whose interface has not changed since 2006. They are
// loaded when needed, so that neither a build nor a run requires the library.
struct Library {
    struct Context;
    static constexpr int success = 0;
    static constexpr int expired = 15, rewound = 16, replayed = 17;
    static constexpr int uid_restriction = 9;

    Context* (*create)() = nullptr;
    void (*destroy)(Context*) = nullptr;
    int (*set)(Context*, int option, ...) = nullptr;
    int (*encode)(char** credential, Context*, const void* text, int bytes) = nullptr;
    int (*decode)(const char* credential, Context*, void** text, int* bytes, uid_t*,
                  gid_t*) = nullptr;

    bool load() {
        // The library is never closed because closing gains nothing.
        void* handle = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
        return handle != nullptr && find(handle, "munge_ctx_create", create) &&
               find(handle, "munge_ctx_destroy", destroy) && find(handle, "munge_ctx_set", set) &&
               find(handle, "munge_encode", encode) && find(handle, "munge_decode", decode);
    }

private:
    template <class Function>
    static bool find(void* handle, const char* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(handle, name));
        return function != nullptr;
    }
};

struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
};

class MungeEnvelope : public SecretEnvelope {
public:
    explicit MungeEnvelope(const Library& library) : library_(library) {}

    Reach reach() const noexcept override { return Reach::cluster; }
    std::string name() const override { return "Munge"; }

    std::string close(const std::string& text) override {
        const std::unique_ptr<Library::Context, void (*)(Library::Context*)> context(
            library_.create(), library_.destroy);
        char* credential = nullptr;
        const bool restricted =
            context != nullptr &&
            library_.set(context.get(), Library::uid_restriction, ::geteuid()) == Library::success;
        const int failure = restricted ? library_.encode(&credential, context.get(), text.data(),
                                                         static_cast<int>(text.size()))
                                       : 1;
        const std::unique_ptr<char, Free> owner(credential);
        if (failure != Library::success || credential == nullptr) {
            throw Error(ErrorKind::store, "munged gives no credential (code " +
                                              std::to_string(failure) +
                                              "): start munged, or give --secret-file");
        }
        return credential;
    }

    std::optional<std::string> open(const std::string& credential) override {
        void* text = nullptr;
        int bytes = 0;
        uid_t user = 0;
        gid_t group = 0;
        const int failure =
            library_.decode(credential.c_str(), nullptr, &text, &bytes, &user, &group);
        const std::unique_ptr<void, Free> owner(text);
        // All ranks that run on one host open the same credential, and late ranks open an old one,
        // so replayed and expired credentials are accepted. Munge gives the text to this user's
        // processes alone. Another process that repeats the credential does not know the text, and
        // fails at the proof that follows, which is different every time.
        const bool genuine = failure == Library::success || failure == Library::replayed ||
                             failure == Library::expired || failure == Library::rewound;
        if (!genuine || text == nullptr || bytes <= 0 || user != ::geteuid()) return std::nullopt;
        return std::string(static_cast<const char*>(text), static_cast<std::size_t>(bytes));
    }

private:
    Library library_;
};

}  // namespace

std::unique_ptr<SecretEnvelope> munge_envelope() {
    Library library;
    if (!library.load()) return nullptr;
    auto seal = std::make_unique<MungeEnvelope>(library);
    try {
        seal->close("is munged there?");
    } catch (const Error&) {
        return nullptr;
    }
    return seal;
}

}  // namespace lockstep::comm
