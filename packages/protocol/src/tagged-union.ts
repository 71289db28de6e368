import { z } from 'zod'

type Member = z.core.$ZodTypeDiscriminable

/**
 * A union whose members differ in the field `tag`. The declared type is that of a plain union, because zod 4.0 and zod 4.1
 * declare a discriminated union with different type parameters: with the other zod, the types of this package would be `any`.
 */
export function taggedUnion<Members extends readonly [Member, ...Member[]]>(
  tag: string,
  members: Members,
): z.ZodUnion<Members> {
  return z.discriminatedUnion(tag, members)
}
