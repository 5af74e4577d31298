// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/live/report_server.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/report/charts/style.hpp"
#include "launcher/report/page.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

constexpr const char* usage =
    "lockstep report -mf DIR... [--out FILE | --serve PORT]\n"
    "Writes one HTML page of a training run, or of several side by side, or serves it while they "
    "go on.\n";

constexpr int not_served = -1, largest_port = 65'535;

struct ReportOptions {
    std::vector<std::string> folders;
    std::string out;
    report::Abscissa abscissa = report::Abscissa::steps;
    int port = not_served;
    std::string host;
    bool bind_all = false;
};

OptionTable report_table(ReportOptions& options) {
    OptionTable table("Report");
    table.texts("model-file,mf", options.folders, "DIR...", "the model folders of training runs");
    table.text("out", options.out, "FILE",
               "the page (default: report.html in the run's folder; of several runs "
               "comparison.html in the first one's)");
    using report::Abscissa;
    table.choice<Abscissa>("over", options.abscissa,
                           {{"steps", Abscissa::steps},
                            {"epochs", Abscissa::epochs},
                            {"tokens", Abscissa::tokens},
                            {"time", Abscissa::minutes}},
                           "what the curves are drawn over: tokens are the label tokens trained "
                           "on, time is that of training, without validations");
    table.add("serve", Arity::one, "PORT",
              "serve the page on this port instead, and refresh it in place while the runs go on; "
              "0: a free port",
              "", [&options](const auto& given) {
                  options.port =
                      static_cast<int>(parse_integer("serve", given.front(), 0, largest_port));
              });
    table.text("host", options.host, "ADDRESS",
               "an address or a name of this host to serve at (default: localhost, which only this "
               "host reaches)");
    table.flag("bind-all", options.bind_all, "serve at all addresses of this host");
    return table;
}

std::string default_out(const std::vector<std::string>& folders) {
    return fs::path(folders.front()) / (folders.size() == 1 ? "report.html" : "comparison.html");
}

// Only a page that this program wrote may be replaced.
bool may_replace(const std::string& path) {
    if (!is_file(path)) return !path_exists(path);
    std::ifstream in(path, std::ios::binary);
    std::string begin(report::page_mark.size(), ' ');
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    return begin == report::page_mark;
}

void check_place(const std::string& out) {
    require_place("--out", out);
    const fs::path folder = fs::path(out).has_parent_path() ? fs::path(out).parent_path() : ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw Error(ErrorKind::config, "--out " + out + ": " + folder.string() +
                                           " is not writable; name another folder");
    if (!may_replace(out))
        throw Error(ErrorKind::config,
                    "--out " + out + ": exists and is no page of report; name another file");
}

int serve(const ReportOptions& options) {
    if (!options.out.empty())
        throw Error(ErrorKind::config,
                    "--out: a page that is served is not written; leave out --out or --serve");
    if (options.bind_all && !options.host.empty())
        throw Error(ErrorKind::config, "--bind-all: stands for all addresses; leave it or --host");
    const std::string host = options.host.empty() ? "localhost" : options.host;
    live::serve_report(
        {options.folders, options.abscissa, options.bind_all ? "" : host, options.port});
    return 0;
}

}  // namespace

int report_program(const std::vector<std::string>& args) {
    ReportOptions options;
    if (!parse_or_answer(usage, args, {report_table(options)})) return 0;
    if (options.folders.empty())
        throw Error(ErrorKind::config, "-mf is needed: the model folder of a training run");
    if (options.folders.size() > report::colours)
        throw Error(ErrorKind::config, "-mf: at most " + std::to_string(report::colours) +
                                           " runs can be told apart on one page; give fewer");
    if (options.port != not_served) return serve(options);
    if (!options.host.empty() || options.bind_all)
        throw Error(ErrorKind::config,
                    "--host and --bind-all: only a page that is served has an "
                    "address; give --serve PORT, too");
    std::vector<report::Run> runs;
    const std::string out = options.out.empty() ? default_out(options.folders) : options.out;
    if (!options.out.empty()) check_place(out);
    const OutputClaim claim("--out", out);
    for (const std::string& folder : options.folders)
        runs.push_back(report::read_run(folder, options.abscissa));
    check_place(out);
    train::write_atomically(out, report::page(runs));
    std::cout << printable(out) << '\n';
    return 0;
}

}  // namespace lockstep::launcher
