"""SOPP: program control. What an instruction does is said by its flags; ``simm16`` is their parameter."""

from __future__ import annotations

from .define import Unit, define
from .sopc import CLEAR_GPR_IDX

define("SOPP", 0, "s_nop", "= simm16", flags="nop")
define("SOPP", 1, "s_endpgm", "= simm16", flags="ends")
define("SOPP", 27, "s_endpgm_saved", "", flags="ends")
define("SOPP", 30, "s_endpgm_ordered_ps_done", "", flags="ends")

define("SOPP", 2, "s_branch", "pc = label", unit=Unit.BRANCH, flags="branch")
for _opcode, _condition, _source, _meaning in (
    (4, "scc0", "scc", lambda scc: scc == 0),
    (5, "scc1", "scc", lambda scc: scc),
    (6, "vccz", "vccz", lambda vccz: vccz),
    (7, "vccnz", "vccz", lambda vccz: vccz == 0),
    (8, "execz", "exec", lambda exec_: exec_ == 0),
    (9, "execnz", "exec", lambda exec_: exec_ != 0),
):
    define(
        "SOPP", _opcode, f"s_cbranch_{_condition}", f"pc = label, {_source}", _meaning,
        unit=Unit.BRANCH, flags="branch conditional",
    )  # fmt: skip
# Their conditions are bits of a debugger that only the trap handler sees.
for _i, _condition in enumerate(("cdbgsys", "cdbguser", "cdbgsys_or_user", "cdbgsys_and_user")):
    define(
        "SOPP", 23 + _i, f"s_cbranch_{_condition}", "pc = label",
        unit=Unit.BRANCH, flags="branch conditional unsupported_in_sim",
    )  # fmt: skip

define("SOPP", 10, "s_barrier", "", flags="barrier")
define("SOPP", 12, "s_waitcnt", "= simm16", flags="waitcnt")
define("SOPP", 13, "s_sethalt", "= simm16", flags="halt")
define("SOPP", 14, "s_sleep", "= simm16", flags="sleep")
define("SOPP", 15, "s_setprio", "= simm16", flags="priority")
define("SOPP", 16, "s_sendmsg", "= simm16, m0", flags="message")
define("SOPP", 17, "s_sendmsghalt", "= simm16, m0", flags="message halt")
define("SOPP", 18, "s_trap", "= simm16", flags="trap")
define("SOPP", 11, "s_setkill", "= simm16", flags="unsupported_in_sim")

define("SOPP", 3, "s_wakeup", "", flags="hint")
define("SOPP", 19, "s_icache_inv", "", flags="hint")
define("SOPP", 20, "s_incperflevel", "= simm16", flags="hint")
define("SOPP", 21, "s_decperflevel", "= simm16", flags="hint")
define("SOPP", 22, "s_ttracedata", "= m0", flags="hint")

define("SOPP", 28, "s_set_gpr_idx_off", "mode = mode", lambda mode: mode & CLEAR_GPR_IDX, flags="gpr_idx")
define(
    "SOPP",
    29,
    "s_set_gpr_idx_mode",
    "m0 = gpr_idx, m0",
    lambda select, m0: (m0 & 0xFFFF0FFF) | (select << 12),
    flags="gpr_idx",
)
