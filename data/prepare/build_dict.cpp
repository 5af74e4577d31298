// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/build_dict.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "data/prepare/prepare.hpp"
#include "data/prepare/tokenizer_building.hpp"
#include "data/text/text_chunks.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "data/writing/output_directory.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

void build_dict(const PrepareOptions& options, Log& log) {
    const std::string path = options.tokenizer.dict_file;
    PrepareOptions building = options;
    (void)ChunkReader(options.inputs, options.read.format);  // refuses files that cannot be read
    find_json_texts(building);
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) make_folders(folder);
    const OutputClaim claim("--dict-file", path);
    if (path_exists(path) && options.existing == Existing::refuse) {
        throw Error(ErrorKind::config,
                    "--dict-file " + path + ": exists; --overwrite true builds it anew");
    }
    building.tokenizer.dict_file.clear();
    const int threads = options.threads > 0
                            ? options.threads
                            : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    // The folder is never committed: it is removed with the object.
    const OutputDirectory work(path + ".build", Existing::overwrite);
    Warnings warnings;
    const auto tokenizer = build_tokenizer(building, {}, threads, work.partial(), warnings, log);
    warnings.write(log);
    tokenizer->save(work.partial());
    std::error_code problem;
    const std::string built = work.partial() + "/" + read_tokenizer_file(work.partial()).file;
    sync_file(built);
    fs::rename(built, path, problem);
    if (problem) throw Error(ErrorKind::io, path + ": cannot be written: " + problem.message());
    sync_folder(folder.empty() ? "." : folder.string());
    log.info(path + ": " + std::to_string(tokenizer->size()) + " tokens");
}

}  // namespace lockstep::data
