import type { HostToolAnnotations } from '@parley/adapter-kit'
import { messageOf, ParleyError } from '@parley/protocol'
import { type HostTool, type HostToolContext, nameProblem } from '../core/index.ts'
import { issuesOf, jsonSchemaOf, type ToolInput, type ToolOutputOf } from './tool-input.ts'
import { failure, resultOf, type ToolReturn } from './tool-result.ts'

export type ToolDefinition<Input extends ToolInput> = {
  /** Unique among the tools of a host. Rules and lists of tools name it `host:<name>`. */
  readonly name: string
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** A `z.object()` of any zod 4, or another Standard Schema that provides its JSON Schema. */
  readonly input: Input
  /**
   * The title and the kind of the tool, and whether a person is asked. By default, it is not read-only and a person is
   * asked. A read-only tool has the kind `read`.
   */
  readonly annotations?: Partial<HostToolAnnotations>
  /** Called only with valid input. Errors it throws are returned to the model. */
  run(input: ToolOutputOf<Input>, context: HostToolContext): ToolReturn | Promise<ToolReturn>
}

const readOnlyKinds = new Set(['read', 'search', 'fetch', 'think'])

/** A tool for `createHost({ tools })`. Throws a ParleyError for a definition that cannot be offered to any agent. */
export function defineTool<Input extends ToolInput>(definition: ToolDefinition<Input>): HostTool {
  const { name, description, input: schema } = definition
  const problem = nameProblem(name) ?? (description.trim() === '' ? 'It needs a description.' : undefined)
  if (problem) throw invalid(name, problem)
  return {
    name,
    description,
    inputSchema: jsonSchema(name, schema),
    annotations: annotationsOf(definition),
    async prepare(input) {
      try {
        const checked = await schema['~standard'].validate(input ?? {})
        if (!checked.issues) return { input: checked.value }
        return { problem: `The input of ${name} is not valid:\n${issuesOf(checked.issues)}` }
      } catch (thrown) {
        return { problem: `The input of ${name} could not be checked: ${messageOf(thrown)}` }
      }
    },
    async run(input, context) {
      try {
        return resultOf(name, await definition.run(input as ToolOutputOf<Input>, context))
      } catch (thrown) {
        if (context.signal.aborted) return failure('Cancelled.')
        return failure(`The tool ${name} failed: ${messageOf(thrown)}`)
      }
    },
  }
}

function annotationsOf(
  definition: Pick<ToolDefinition<ToolInput>, 'name' | 'annotations'>,
): HostToolAnnotations {
  const { name, annotations = {} } = definition
  const { title = name, readOnly = false, safe = false, kind = readOnly ? 'read' : 'other' } = annotations
  if (readOnly && !readOnlyKinds.has(kind)) {
    throw invalid(name, `It is declared read-only, but tools of the kind ${kind} make changes.`)
  }
  return { title, kind, readOnly, safe }
}

function jsonSchema(name: string, schema: ToolInput): Record<string, unknown> {
  try {
    const { $schema, ...json } = jsonSchemaOf(schema)
    if (json.type === 'object') return json
  } catch (thrown) {
    throw invalid(name, `Its input schema cannot be converted to JSON Schema: ${messageOf(thrown)}`)
  }
  throw invalid(name, 'Its input schema must describe an object: use z.object().')
}

function invalid(name: string, why: string): ParleyError {
  return new ParleyError('validation_error', `The host tool "${name}" cannot be defined. ${why}`, {
    details: { tool: name },
  })
}
