import { z } from 'zod'

/** The signature of the browser that gave an answer, over the text of `decisionText` or `answerText`. */
export const AnswerSignature = z.object({
  keyId: z
    .string()
    .meta({ description: 'The id of the key of the browser: the start of the SHA-256 of its SPKI' }),
  commandId: z.string().meta({ description: 'The command that gave the answer; part of the signed text' }),
  value: z
    .string()
    .meta({ description: 'ECDSA with P-256 and SHA-256, in the form IEEE P1363, as base64url' }),
})
export type AnswerSignature = z.infer<typeof AnswerSignature>

/** The signature in a command. It has no `commandId`, because the command has that id itself. */
export const CommandSignature = AnswerSignature.omit({ commandId: true }).strict()
export type CommandSignature = z.infer<typeof CommandSignature>
