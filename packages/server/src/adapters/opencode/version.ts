/** The oldest version that is known to ask before it acts, and whose events are translated here. */
export const oldestVersion = '1.18.33'

/** Advice for people. `signIn` is a command. */
export type Advice = {
  /** How to get a version that works. */
  readonly getIt: string
  readonly signIn: string
}

/** Why this version is refused; undefined if it is not. A version that cannot be parsed is refused. */
export function tooOld(version: string, getIt: string): string | undefined {
  const given = numbersOf(version)
  const needed = numbersOf(oldestVersion) ?? []
  if (given && compare(given, needed) >= 0) return undefined
  return `OpenCode ${version} is too old: Parley needs ${oldestVersion} or later. ${getIt}`
}

/** A prerelease, such as a beta, is older than its version. */
function numbersOf(version: string): number[] | undefined {
  const [, major, minor, patch, before] = /^v?(\d+)\.(\d+)\.(\d+)(-)?/.exec(version) ?? []
  if (major === undefined) return undefined
  return [Number(major), Number(minor), Number(patch) - (before === undefined ? 0 : 0.5)]
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((number, at) => number !== b[at])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}
