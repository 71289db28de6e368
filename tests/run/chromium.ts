import { findProgram } from '@parley/adapter-kit/find-program'

/** Chromium without windows. It has the same engine, and takes half the processor time. */
export const headlessShell = 'chromium-headless-shell'

/** The Chromium for tests: the program that PARLEY_CHROMIUM names, or the first of `names` on the PATH. */
export function findChromium(
  names: readonly string[] = [headlessShell, 'chromium', 'chromium-browser', 'google-chrome'],
): string | undefined {
  const { env } = process
  if (env.PARLEY_CHROMIUM) return env.PARLEY_CHROMIUM
  return names.map((name) => findProgram({ name, env })).find((path) => path !== undefined)
}
