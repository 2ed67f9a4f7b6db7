#include "cli/manual_page.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

namespace ballast::cli {

namespace {

/// As text of roff: no macro, no escape, hyphens that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char one : text) {
    if (line_begins && (one == '.' || one == '\''))
      out += "\\&";
    if (one == '\\')
      out += "\\e";
    else if (one == '-')
      out += "\\-";
    else
      out += one;
    line_begins = one == '\n';
  }
  return out;
}

std::string name_of(const CLI::Option& of) {
  if (of.get_positional())
    return of.get_name(true);
  std::string out;
  for (const std::string& one : of.get_snames())
    out += (out.empty() ? "-" : ", -") + one;
  for (const std::string& one : of.get_lnames())
    out += (out.empty() ? "--" : ", --") + one;
  return out + (of.get_type_size() != 0 ? " " + of.get_type_name() : "");
}

void add_options(std::string& out, const CLI::App& of) {
  for (const CLI::Option* one : of.get_options()) {
    if (one->get_group().empty())
      continue;
    out +=
        ".TP\n.B " + roff(name_of(*one)) + "\n" + roff(one->get_description());
    if (const std::string usual = one->get_default_str(); !usual.empty())
      out += " (default: " + roff(usual) + ")";
    out += "\n";
  }
}

/// `known`: a footer that stands elsewhere; commands inherit it.
void add_command(std::string& out, const CLI::App& of,
                 const std::string& before, const std::string& known) {
  const std::string name = before + " " + of.get_name();
  out += ".SS " + roff(name) + "\n" + roff(of.get_description()) + ".\n";
  add_options(out, of);
  if (of.get_footer() != known)
    out += ".PP\n.nf\n" + roff(of.get_footer()) + "\n.fi\n";
  for (const CLI::App* one : of.get_subcommands(nullptr))
    add_command(out, *one, name, known);
}

} // namespace

std::string manual_page(const CLI::App& app) {
  std::string out = ".TH BALLAST 1\n"
                    ".SH NAME\n"
                    "ballast \\- elastic training of one model on many "
                    "workers\n"
                    ".SH SYNOPSIS\n"
                    ".B ballast\n"
                    ".I COMMAND\n"
                    "[ARGUMENTS]\n"
                    ".SH COMMANDS\n";
  for (const CLI::App* one : app.get_subcommands(nullptr))
    if (!one->get_group().empty())
      add_command(out, *one, app.get_name(), app.get_footer());
  if (!app.get_footer().empty())
    out += ".SH NOTES\n.nf\n" + roff(app.get_footer()) + "\n.fi\n";
  return out +
         ".SH EXIT STATUS\n"
         "0 on success, 2 where the user can mend it; ballast docs errors "
         "lists all.\n";
}

} // namespace ballast::cli
