import { readRegularFile } from '../regular-file.ts'

const largestSettings = 4 * 1024 * 1024

/** Reads a settings file of Claude Code. `isUnclear`: the file exists, but cannot be read or parsed here. */
export function settingsIn(file: string): { settings: Record<string, unknown>; isUnclear: boolean } {
  try {
    const value: unknown = JSON.parse(readRegularFile(file, largestSettings))
    const isObject = typeof value === 'object' && value !== null
    return { settings: isObject ? (value as Record<string, unknown>) : {}, isUnclear: !isObject }
  } catch (error) {
    return { settings: {}, isUnclear: (error as NodeJS.ErrnoException).code !== 'ENOENT' }
  }
}
