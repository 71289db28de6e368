import { pathsIn } from '../paths-in-input.ts'
import type { Call } from './translate-state.ts'

/** Every file that a call names, in its locations, its content and its input. */
export function pathsOfCall({
  locations,
  content,
  input,
}: Pick<Call, 'locations' | 'content' | 'input'>): string[] {
  const told = [...locations, ...content].flatMap(({ path }) => path || [])
  return [...new Set([...told, ...pathsIn(input)])]
}
