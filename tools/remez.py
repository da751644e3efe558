#!/usr/bin/env python3
"""remez.py: the polynomials of src/rules/math_coef.h, from nothing but decimal arithmetic.

    python3 tools/remez.py            prints the header (redirect it into src/rules/math_coef.h)
    python3 tools/remez.py -v NAME..  the error of the named polynomials, in units of 2^-bits

Each row of TABLE asks for the polynomial sum c_p x^p, p in `powers`, that minimises the greatest
|weight(x) * (f(x) - poly(x))| on [a, b] (Remez exchange, 60 digits). Coefficients are then rounded to
the type one after the other, lowest power first, and the rest are fitted again each time, so that
rounding a big coefficient is made up for by the small ones.
"""
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 60
ONE = D(1)


# ---- functions, by series; arguments are small ----------------------------------------------------
def series(x, first, ratio):
    term, total, k = first, first, 0
    while abs(term) > D(10) ** -58 * max(abs(total), D(10) ** -58):
        term = term * ratio(k)
        total += term
        k += 1
    return total


def sin(x):
    return series(x, x, lambda k: -x * x / ((2 * k + 2) * (2 * k + 3)))


def cos(x):
    return series(x, ONE, lambda k: -x * x / ((2 * k + 1) * (2 * k + 2)))


def arctan_inv(n, terms=60):
    return sum(D((-1) ** k) / ((2 * k + 1) * D(n) ** (2 * k + 1)) for k in range(terms))


PI = 4 * (4 * arctan_inv(5) - arctan_inv(239))
LN2 = D(2).ln()


def erf(x):
    """sum 2/sqrt(pi) * exp(-x^2) * 2^k x^(2k+1) / (2k+1)!!  (all terms positive)"""
    t = series(x, x, lambda k: 2 * x * x / (2 * k + 3))
    return 2 / PI.sqrt() * (-x * x).exp() * t


def sinc(t):  # sin(r)/r, t = r^2
    r = t.sqrt()
    return sin(r) / r if r else ONE


def tanhc(t):
    r = t.sqrt()
    e = (2 * r).exp()
    return (e - 1) / (e + 1) / r if r else ONE


def tanc(t):
    r = t.sqrt()
    return sin(r) / cos(r) / r if r else ONE


def erfc_log(x):
    """-ln(1 - erf(x)); 1 - erf loses up to 17 digits, which 60 can spare"""
    return -(1 - erf(x)).ln()


def erfc_slope(x):
    return erfc_log(x) / x if x else 2 / PI.sqrt()


def erf_weight(x, y):
    """an error of q = x*y is one of e^-q * it in erf"""
    e = erf(x)
    return x * (1 - e) / e if e else ONE


def erfc_power(x):
    """log2(erfc(x))/x"""
    return -erfc_slope(x) / LN2


def erfc_weight(x, y):
    """the error of erfc itself; far out, where it is next to nothing, a thirtieth of it will do"""
    return x * LN2 * (D(2) ** (x * y) + D("1e-6"))


def atanh_tail(z):
    """(atanh(s)/s - 1 - z/3) / z^2, z = s^2"""
    return sum(z**k / (2 * k + 5) for k in range(1, 60)) + ONE / 5


def atanh_weight(z, y):
    return z * z


# ---- Remez exchange -------------------------------------------------------------------------------
def solve(m, v):
    n = len(v)
    a = [row[:] + [v[i]] for i, row in enumerate(m)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[p] = a[p], a[i]
        for r in range(i + 1, n):
            q = a[r][i] / a[i][i]
            if q:
                a[r] = [x - q * y for x, y in zip(a[r], a[i])]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


class Fit:
    """Samples of f and weight on a Chebyshev grid, shared by all the fits of one row."""

    def __init__(self, f, a, b, weight, points=500):
        a, b = D(a), D(b)
        self.x = [(a + b) / 2 - (b - a) / 2 * cos(PI * i / points) for i in range(points + 1)]
        self.f = [f(x) for x in self.x]
        self.w = [weight(x, y) for x, y in zip(self.x, self.f)]

    def minimax(self, powers, fixed):
        """Coefficients of the powers that are not fixed, and the greatest error. What is free are the
        highest powers, so x^(least of them) is divided out: what remains has a unique best fit."""
        free = [p for p in powers if p not in fixed]
        n, x0 = len(free), min(free, default=0)
        pts = [i for i, x in enumerate(self.x) if abs(x) > D("1e-20")]
        xs = [self.x[i] for i in pts]
        rest = [self.f[i] - sum(c * self.x[i] ** p for p, c in fixed.items()) for i in pts]
        weight = [self.w[i] * abs(x) ** x0 for i, x in zip(pts, xs)]
        target = [y / x**x0 for x, y in zip(xs, rest)]
        if n == 0:
            return {}, max(abs(w * t) for w, t in zip(weight, target))
        basis = [[x ** (p - x0) for p in free] for x in xs]
        last = len(xs) - 1
        ref = [round(last * (0.5 - 0.5 * float(cos(PI * (i + D("0.5")) / (n + 1))))) for i in range(n + 1)]
        for _ in range(60):
            rows = [[basis[i][j] * weight[i] for j in range(n)] + [D((-1) ** k)] for k, i in enumerate(ref)]
            sol = solve(rows, [target[i] * weight[i] for i in ref])
            c = sol[:n]
            err = [w * (t - sum(ci * bi for ci, bi in zip(c, bx))) for w, t, bx in zip(weight, target, basis)]
            # extrema of each run of one sign
            ext, i = [], 0
            while i <= last:
                j, best = i, i
                while j <= last and (err[j] >= 0) == (err[i] >= 0):
                    if abs(err[j]) > abs(err[best]):
                        best = j
                    j += 1
                ext.append(best)
                i = j
            while len(ext) > n + 1:  # drop the least, with a neighbour if need be: signs alternate
                k = min(range(len(ext)), key=lambda q: abs(err[ext[q]]))
                if k in (0, len(ext) - 1):
                    ext.pop(k)
                elif len(ext) >= n + 3:
                    k = k if abs(err[ext[k + 1]]) < abs(err[ext[k - 1]]) else k - 1
                    del ext[k : k + 2]
                else:
                    ext.pop(0 if abs(err[ext[0]]) < abs(err[ext[-1]]) else -1)
            worst = max(abs(e) for e in err)
            if len(ext) < n + 1 or ext == ref or worst <= abs(sol[n]) * D("1.0005"):
                break
            ref = ext
        return dict(zip(free, c)), max(abs(e) for e in err)


def round_bits(x, bits):
    if x == 0:
        return x
    e, a = 0, abs(x)
    while a >= 2:
        a, e = a / 2, e + 1
    while a < 1:
        a, e = a * 2, e - 1
    scale = D(2) ** (bits - 1 - e)
    return (x * scale).to_integral_value(rounding="ROUND_HALF_EVEN") / scale


def fit_rounded(row, bits):
    f = Fit(row["f"], row["a"], row["b"], row["weight"])
    fixed = {p: D(c) for p, c in row.get("fixed", {}).items()}
    ideal = f.minimax(row["powers"], fixed)[1]
    for p in row["powers"]:
        if p in fixed:
            continue
        c, _ = f.minimax(row["powers"], fixed)
        fixed[p] = round_bits(c[p], bits)
    if row.get("tuned") and bits == 24:
        fixed = {p: D(float.fromhex(c)) for p, c in zip(row["powers"], row["tuned"])}
    error = f.minimax(row["powers"], fixed)[1]
    if row["tail"]:
        fixed[0] = parts(row["tail"], 2, bits)[1]
    return [fixed[p] for p in row["powers"]], ideal, error


def relative(x, y):
    return 1 / abs(y) if y else D(0)


def hexf(x):
    if x == 0:
        return "0"
    s, a, e = "-" if x < 0 else "", abs(x), 0
    while a >= 2:
        a, e = a / 2, e + 1
    while a < 1:
        a, e = a * 2, e - 1
    m = int((a * 2**52).to_integral_value())
    digits = ("%013x" % (m - 2**52)).rstrip("0")
    return "%s0x1%sp%d" % (s, "." + digits if digits else "", e)


def upto(n, lo=0):
    return list(range(lo, n + 1))


def row(f, a, b, powers, weight=relative, fixed=None, tail=None):
    """tail: the constant coefficient is this number; only what its rounding loses stands in the table,
    because the code adds the rounded number last"""
    fixed = fixed or ({0: tail} if tail else {})
    return dict(f=f, a=a, b=b, powers=powers, weight=weight, fixed=fixed, tail=tail)


SQ2 = D(2).sqrt()
LOG_A, LOG_B = 1 / SQ2 - 1, SQ2 - 1
HALF_PI2, QUARTER_PI2 = (PI / 2 * D("1.004")) ** 2, (PI / 4 * D("1.01")) ** 2


def expm1(r):
    return r.exp() - 1


def log_over(base):
    return lambda f: (1 + f).ln() / D(base).ln() / f if f else 1 / D(base).ln()


def both(make, n32, n64):
    return (make(n32), make(n64))


# name of the polynomial: what it approximates, and the rows for f32 and f64
TABLE = {
    "exp2": ("2^r, |r| <= 1/2",
             both(lambda n: row(lambda r: (r * LN2).exp(), "-0.5", "0.5", upto(n), fixed={0: 1}), 6, 11)),
    "expm1": ("e^r - 1, |r| <= ln 2 / 2, from r^1",
              both(lambda n: row(expm1, -LN2 / 2, LN2 / 2, upto(n, 1), fixed={1: 1}), 6, 11)),
    "log": ("ln(1+f), sqrt(1/2) <= 1+f <= sqrt(2), from f^1",
            both(lambda n: row(lambda f: (1 + f).ln(), LOG_A, LOG_B, upto(n, 1), fixed={1: 1, 2: "-0.5"}), 10, 21)),
    "log2": ("log2(1+f)/f, the same interval; tail",
             both(lambda n: row(log_over(2), LOG_A, LOG_B, upto(n), tail=1 / LN2), 9, 20)),
    "log10": ("log10(1+f)/f, the same interval; tail",
              both(lambda n: row(log_over(10), LOG_A, LOG_B, upto(n), tail=1 / D(10).ln()), 9, 20)),
    "sin": ("sin(r)/r in r^2, |r| <= 1.004 pi/2",
            both(lambda n: row(sinc, 0, HALF_PI2, upto(n), fixed={0: 1}), 4, 8)),
    "tan": ("tan(r)/r in r^2, |r| <= 1.01 pi/4",
            both(lambda n: row(tanc, 0, QUARTER_PI2, upto(n), fixed={0: 1}), 6, 14)),
    "tanh": ("tanh(x)/x in x^2, |x| <= 0.4", (None, row(tanhc, 0, D("0.16"), upto(9), fixed={0: 1}))),
    "erf": ("-ln(1 - erf(x))/x, 0 <= x <= 3.95 (f32) or 5.95 (f64); tail",
            (row(erfc_slope, 0, D("3.95"), upto(8), weight=erf_weight, tail=2 / PI.sqrt()),
             row(erfc_slope, 0, D("5.95"), upto(23), weight=erf_weight, tail=2 / PI.sqrt()))),
    "erfc": ("log2(erfc(x))/x, 0 <= x <= 4.4; falls on beyond",
             (row(erfc_power, 0, D("4.4"), upto(7), weight=erfc_weight), None)),
    "atanh": ("(atanh(s)/s - 1 - s^2/3)/s^4 in s^2, |s| <= 3 - sqrt(8)",
              both(lambda n: row(atanh_tail, 0, (3 - D(8).sqrt()) ** 2, upto(n), weight=atanh_weight), 3, 8)),
}


# Hill climbing over neighbours of the fitted coefficients, judged by all floats near pi/2 and a sample of
# the others: the polynomial as it is evaluated, roundings included, never exceeds 1.
TABLE["sin"][1][0]["tuned"] = ["0x1p0", "-0x1.555554p-3", "0x1.110f4ap-7", "-0x1.9f71eap-13", "0x1.5d3db4p-19"]


def parts(x, n, bits):
    """x as a sum of n numbers of the type, each the rest rounded"""
    out = []
    for _ in range(n):
        out.append(round_bits(x, bits))
        x -= out[-1]
    return out


# constants split into a head and corrections
SPLIT = [
    ("pi", PI, 3), ("half_pi", PI / 2, 3), ("two_pi", 2 * PI, 2), ("ln2", LN2, 2), ("log2e2", 2 / LN2, 2), ("log10_2", D(2).log10(), 2), ("third", ONE / 3, 2),
    ("log2e", 1 / LN2, 1), ("log10e", 1 / D(10).ln(), 1), ("erf0", 2 / PI.sqrt(), 1),
]


def header():
    out = ["/* math_coef.h: coefficients and constants of math.c and trig.c, lowest power first. Written by",
           " * tools/remez.py, which says how; the comment of each row is the greatest error of the polynomial,",
           " * in units of 2^-24 (f32) and 2^-53 (f64) of the value. */",
           "#ifndef RIDGE_MATH_COEF_H", "#define RIDGE_MATH_COEF_H", "", "#include <stdint.h>", ""]
    for name, (what, rows) in TABLE.items():
        for r, bits, t in zip(rows, (24, 53), ("f32", "f64")):
            if r is None:
                continue
            c, _, got = fit_rounded(r, bits)
            out += ["/* %s: %.2g */" % (what, got * 2**bits),
                    "static const double %s_%s[] = {" % (name, t)]
            out += ["    %s," % ", ".join(hexf(x) for x in c[i : i + 4]) for i in range(0, len(c), 4)]
            out += ["};"]
    out += [""]
    for bits, t in ((24, "f32"), (53, "f64")):
        for name, x, n in SPLIT:
            out += ["static const double %s_%s[] = {%s};" % (name, t, ", ".join(hexf(c) for c in parts(x, n, bits)))]
    getcontext().prec = 420
    x = 1 / (2 * 4 * (4 * arctan_inv(5, 300) - arctan_inv(239, 300)))
    out += ["", "/* 1/(2 pi) in binary: 8 zero bits, then the digits, in words of 32 */", "static const uint32_t inv_2pi_f32[7] = {"]
    words = [int(x * D(2) ** (32 * (i + 1) - 8)) % 2**32 for i in range(7)]
    out += ["    %s," % ", ".join("0x%08x" % w for w in words), "};"]
    out += ["/* the same after 32 zero bits, in words of 64 */", "static const uint64_t inv_2pi_f64[19] = {"]
    words = [int(x * D(2) ** (64 * (i + 1) - 32)) % 2**64 for i in range(19)]
    out += ["    %s," % ", ".join("0x%016x" % w for w in words[i : i + 4]) for i in range(0, 19, 4)]
    out += ["};", "", "#endif"]
    return "\n".join(out)


def errors(names):
    for name in names:
        for r, bits in zip(TABLE[name][1], (24, 53)):
            if r is None:
                continue
            c, ideal, got = fit_rounded(r, bits)
            print("%-8s %d bits, degree %d: best %.3g, with rounded coefficients %.3g units of 2^-%d"
                  % (name, bits, r["powers"][-1], ideal * 2**bits, got * 2**bits, bits))


if __name__ == "__main__":
    if sys.argv[1:2] == ["-v"]:
        errors(sys.argv[2:] or TABLE)
    else:
        print(header())
