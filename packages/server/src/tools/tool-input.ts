import { z } from 'zod'

/**
 * The input of a host tool: any Standard Schema (https://standardschema.dev) of an object. The type is written out
 * here and not imported from zod, because a program may have another version of zod, or none. Comparing the types of
 * two copies of zod takes the compiler minutes and gigabytes.
 */
export type ToolInput = {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validation | Promise<Validation>
    readonly types?: { readonly input: unknown; readonly output: Record<string, unknown> } | undefined
  }
}

type Validation =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly InputIssue[] }

export type InputIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The input that `run` gets, after defaults and transformations. */
export type ToolOutputOf<Input extends ToolInput> = NonNullable<Input['~standard']['types']>['output']

/**
 * The JSON Schema of the input as a model writes it, before defaults and transformations. Throws if the schema cannot
 * be converted to JSON Schema. Schemas of zod before 4.2 have no `jsonSchema`; Parley's own zod converts them.
 */
export function jsonSchemaOf(input: ToolInput): Record<string, unknown> {
  const own = (input['~standard'] as { jsonSchema?: JsonSchemaConverter }).jsonSchema
  if (own) return own.input({ target: 'draft-07' })
  if ('_zod' in input) {
    return z.toJSONSchema(input as unknown as z.core.$ZodType, { io: 'input', target: 'draft-7' })
  }
  throw new Error(`a schema of ${input['~standard'].vendor} has no "~standard".jsonSchema`)
}

type JsonSchemaConverter = { input(options: { target: 'draft-07' }): Record<string, unknown> }

export function issuesOf(issues: readonly InputIssue[]): string {
  return issues
    .map(({ path = [], message }) => {
      const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
      return `- ${keys.join('.') || 'as a whole'}: ${message}`
    })
    .join('\n')
}
