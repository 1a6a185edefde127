"""Small programs that sample volumes, for every version. In the form of ``tools/versions_experiments.py``.

Before Warp 1.16 no volume can be allocated on the CPU device, and one can be had from its bytes in every version. Those
here are NanoVDB grids of 8 by 8 by 8 voxels as ``Volume.array()`` of Warp 1.19 gives them, compressed, as base 85.
"""

from __future__ import annotations

#: By name: the rule, what is asked, and the program.
VOLUMES: dict[str, tuple[str, str, str]] = {}

#: ``i + 2 j + 3 k``; the same for a vector's first component, with ``2 i`` and ``3 i`` for the others; ``10 i``.
_BYTES = {
    "float": (
        "c-rmSp>Eqy6b9g%Dv}2Z0tyBStZAUIeS+9m!_&}k_X1lVA)uhJurQ=jVPRom;oxB4U}0HztQ1&le4DOA$@fXWZ0B0X@qYvJ`P=s&"
        "Uq9ue$0w;y;}2<R6sfPriOy{L^7T6Rth&CRmY==u`v02quj_TQ`uO+vTOQZ>ebtxC^+mlr&YwPSdcV<CNjuMHRlST}x%<a!+|!>A"
        "0001NkC6%h003a?HMRfO00000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000006_PUZ68l0R_#e4gdfE00000000000000000000000000000000000ps%W`oyRv?"
        "J-KO8x{XZQIFFn}&LdZCx0upAlH&X@avV8}%p*6ES*$H0b)0|ct|J$b>&RU@Joh&8s~w*EGxEC~p1X)V6z1MX#(8*dinZOyY+8PY"
        "Qa9bRO5JqNDs|Jn!{mi`D0S1lL#dm0x!lbpZ^8Z+y4lN{zrUq!-sjEV-%>aGdGq(T)J>hYV1EnUe9W7_zol*t@*g^L^6d"
    ),
    "wp.vec3": (
        "c-rmPp>LZ<6aa8{suoWwFbD_;@TN=(DDb3$f=c~-DkzwyfN2`^{(&ujf?;4_p<!TPpkZKOpkbh4*fuxsbZ=X=McW1K_miGZz0~jC"
        "d*A7E^4(8A|MJ7T^3AVdG#x$vYV_dQ@39!Z7_qZ_`_KP=%>Vh+zqfDy{_My8yjPxo`}67W>GjX`J*=NU;(iTZ$IrhUe_YmeKi$z!"
        "#ptuY=Gsf~toQAB#Q(|X0{{R3{~ync00000{`ZFI*bo2!0000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000Dwo^O94C2jDWu}Ja<C?00000"
        "0000000000000000000000000000000000000000000000000000000000000000000000008)-y}iB9e*KUBTLr_=Vx3|#Z!x4e"
        "O>v&$BE@KEu}U$Tx0t0^q&Q2lN^zB9IkecMn9f_Aq*$i-km54Mb&6hdSf{v6(Q6JjDehAAn!_f=eTrUl*rs@1TJ)O3sI+*IV)^#r"
        "ZVqvWR`IMiaYrXHyIJ&j61AMh?9QUc4^hiS%<d|Be5$<H(c@F)y{*stiSpjXvwo_)_wmf1D(~)Yj?2^K-QCSedAhv&zsEs&xckev"
        "L#wz)lXxFZV|KHc-)Z!^j9Sj3o{OmIGHSVsdT!?}_h{a7&r<G1%6*n{uTt)-l=~*-zMHq)(|OB%l5#Io?hh&VWy*b>a&J=Z`;K#{"
        "xwk3z?wRzOL(RQ=);0I;S@)Vl%{?wH_kQU&hnjnmavzp{bEvrwQtqSDe%G1I+d8E0_|vqWr}ZMO>$Kjcbvtjr>&()3{35MqX<eoD"
        "Dy=tZy-Vw^$NIa@N&1doru9QwFVlLR)=gUP)B15{o#t?xzT4|MDgEY9*B9wK{-E@mLtXbvTc@Sp9O`<Q*5lG|4s|_B>#RJypGWa*"
        "cXw$P&vqKm<2>%tS@g7wI@U46tLW)6>e$8%@1nQ$&~i;ut|8?*O}Wlfu8Wjw9nWLe(``JLk3FVbvy^L*a-F4ItCXwOexGU|msb0J"
        "={JX3`=qqm4@<u})Y=b9tNp0-n?tRAT3YQdOTRhP+K*H1uS&l;)Y@mM_BZ9>{XC7?kK!4h$6Z>+nTzOc9W%U)9#>J%Hu~N~k2g`z"
        "B;L<Me6F6eO6Odqb8gZ(cj=s6kM*1vrJZvS@8??Ikm@^4^_{2s>N)r6oN;OA?3Z@VwDg-pJ?F5rbB;^DIn;BGN;_v(`pu!9^Rl#a"
        "UYCAzsOP*&=M1Ia9O^l5(mC(r{XE2MCUI{r=524C_HNVOHtl_U&)2`_O4~b(_wyoVGmCq3mG*AZ-d)<;^;q{_l(u(J+TKyTpO-P4"
        "lejn6X>XJE?$h45w7vb(_NJxny)6CaQ1^~Y+j~{|&7tniO51x=`pu#4y)JF<UFkQ6x;Lb~Z%e;9)V=p<@B4T^FQWEoJcD)IrB(eK"
        "HlE8iW_T0*Tt+>UnBgdD-$Xsf@qVtKAJXSf=k4?7^Y;0RdHei2p36bZa2&O7<GIY@{aim^``DyD?o%J*()!pht&eGGeY`BKkJqK&"
        "9BLo0O6y}N{pL{ncvD&*?@PZq)IQ#o*2hWdH;3BCx2caGJI<l@@qOxJQGNrT58H|"
    ),
    "wp.int32": (
        "c-rmSF;2rU6b4|Yie#xXGqRXi%Z$_rAx1`KxB$HZ0|#O0&XG7mZxE=`!9XaXbbH??{jwZe&(Vv=+&(<6?yj#E{Z1;WJxhb;BjvSC"
        "Y&|W1pHJB{Hs37wpFMT`Sal9vFWva~_5Fsiop8U(dRTue!}zj$-c@&WENS+=R<6?g@$27D*i+XB0002uXtV$T006@4ivMc>00000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000fS=_mu+?Y*dvwow0000000000000000000000000000000000000000wVd;;|0iAiY#ux(!E+is=fQIkJeR?96Fl$w"
        "R;da"
    ),
}

_KEPT = """
import base64
import zlib


@wp.kernel
def work(volume: wp.uint64, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
BODY


x, y = leaf(1.25, 2.25), zeros(2)
content = np.frombuffer(zlib.decompress(base64.b85decode("BYTES")), dtype=np.uint8)
volume = wp.Volume(wp.array(content, dtype=wp.uint8))
wp.launch(work, dim=2, inputs=[volume.id, x], outputs=[y])
answer = judged(y.numpy(), EXPECTED)
"""
_GRADIENT = """    grad = MATRIX()
    value = wp.volume_sample_grad(volume, wp.vec3(x[i], 1.25, 1.5), wp.Volume.LINEAR, grad, dtype=KIND)
    y[i] = VALUE"""
_MADE = f"""
@wp.kernel
def work(volume: wp.uint64, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
{_GRADIENT}


@wp.kernel
def fill(volume: wp.uint64, values: wp.array(dtype=KIND, ndim=3)):
    i, j, k = wp.tid()
    wp.volume_store(volume, i, j, k, values[i, j, k])


at = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).astype(np.float32)
data = np.stack([at @ np.array([1.0 + c, 2.0, 3.0], dtype=np.float32) for c in range(4)], -1)
x, y = leaf(1.25, 2.25), zeros(2)
volume = wp.Volume.allocate([0.0] * 3, [7.0] * 3, 1.0, bg_value=KIND(0.0, 0.0, 0.0, 0.0))
values = wp.array(data.astype(np.float32), dtype=KIND)
wp.launch(fill, dim=(8, 8, 8), inputs=[volume.id, values])
wp.launch(work, dim=2, inputs=[volume.id, x], outputs=[y])
answer = judged(y.numpy(), EXPECTED)
"""


def _gradient(program: str, kind: str, matrix: str, value: str, expected: str) -> str:
    text = program.replace("BODY", _GRADIENT).replace("MATRIX", matrix).replace("KIND", kind)
    return text.replace("VALUE", value).replace("EXPECTED", expected).replace("BYTES", _BYTES.get(kind, ""))


VOLUMES["volume-float"] = (
    "",
    "`volume_sample_grad` of a `float` volume into a `vec3`",
    _gradient(_KEPT, "float", "wp.vec3", "grad[0] + 10.0 * grad[1]", "[21.0, 21.0]"),
)
VOLUMES["volume-vec3"] = (
    "",
    "`volume_sample_grad` of a `vec3` volume into a 3-by-3 matrix: its last row",
    _gradient(_KEPT, "wp.vec3", "wp.mat33", "grad[2, 0] + 10.0 * grad[2, 1]", "[23.0, 23.0]"),
)
for _name, _shape in (("43", (4, 3)), ("34", (3, 4))):
    VOLUMES[f"volume-vec4-{_name}"] = (
        "",
        f"`volume_sample_grad` of a `vec4` volume into a {_shape[0]}-by-{_shape[1]} matrix",
        f"grads = wp.types.matrix(shape={_shape}, dtype=float)\n"
        + _gradient(_MADE, "wp.vec4", "grads", "grad[2, 0] + 10.0 * grad[2, 1]", "[23.0, 23.0]"),
    )
VOLUMES["volume-vec4d-43"] = (
    "",
    "`volume_sample_grad` of a `vec4d` volume into a 4-by-3 matrix of doubles",
    "grads = wp.types.matrix(shape=(4, 3), dtype=wp.float64)\n"
    + _gradient(_MADE, "wp.vec4d", "grads", "float(grad[2, 0] + wp.float64(10.0) * grad[2, 1])", "[23.0, 23.0]"),
)
VOLUMES["volume-integers"] = (
    "WP702",
    "`wp.volume_sample` with `LINEAR`, a quarter of the way between two voxels of integers",
    _KEPT.replace(
        "BODY",
        "    at = wp.vec3(x[i], 2.0, 2.0)\n"
        "    y[i] = float(wp.volume_sample(volume, at, wp.Volume.LINEAR, dtype=wp.int32))",
    )
    .replace("EXPECTED", "[12.5, 22.5]")
    .replace("BYTES", _BYTES["wp.int32"]),
)
