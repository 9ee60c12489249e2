// The colour of a value in a table.

/** Blue for White, orange for Black, the stronger the nearer a value is to `scale`; "" for hardly any. */
export function tint(value, scale) {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / scale));
    if (share < 0.03) return "";
    return `color-mix(in oklab, var(--${value > 0 ? "blue" : "orange"}) ${Math.round(85 * share)}%, transparent)`;
}
