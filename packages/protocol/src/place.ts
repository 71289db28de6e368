import { z } from 'zod'

/**
 * The machine of a folder, if several servers share a database: the same path on another machine is another folder. A
 * setting for a folder applies only at its place. If a request names no place, the place of the server that receives
 * the request is used.
 */
export const Place = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: 'The place of the folder, if several servers share a database' })

/** True if the settings belong to several places. A list must then name the place of each. */
export function isAtSeveralPlaces(settings: readonly { readonly place?: string | undefined }[]): boolean {
  return new Set(settings.flatMap(({ place }) => place ?? [])).size > 1
}
