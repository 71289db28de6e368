import { readRegularFile } from '../regular-file.ts'

const largestSettings = 4 * 1024 * 1024

/** A file of settings of Claude Code. `isUnclear`: there is one, and it cannot be read or understood here. */
export function settingsIn(file: string): { settings: Record<string, unknown>; isUnclear: boolean } {
  try {
    const value: unknown = JSON.parse(readRegularFile(file, largestSettings))
    const isObject = typeof value === 'object' && value !== null
    return { settings: isObject ? (value as Record<string, unknown>) : {}, isUnclear: !isObject }
  } catch (error) {
    return { settings: {}, isUnclear: (error as NodeJS.ErrnoException).code !== 'ENOENT' }
  }
}
