"""The console's colours, as CSS writes them. From 600 on they can carry white text, and be text on white."""

PRIMARY_COLORS = {
    "50": "oklch(98.4% .014 180)",
    "100": "oklch(95.3% .045 181)",
    "200": "oklch(91% .085 181)",
    "300": "oklch(85.5% .12 182)",
    "400": "oklch(79% .13 182)",
    "500": "oklch(72% .125 183)",
    "600": "oklch(50% .092 187)",
    "700": "oklch(44.5% .08 188)",
    "800": "oklch(39.5% .068 189)",
    "900": "oklch(35% .056 190)",
    "950": "oklch(26% .043 193)",
}
